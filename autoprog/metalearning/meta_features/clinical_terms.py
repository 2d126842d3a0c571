"""The table of clinical terms: names, codes, units and values of each group of features.

Add new terms here. A name whose meaning differs between cohorts belongs in `VALUE_RULES`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

ClinicalGroup = Literal[
    "demographics", "vitals", "laboratory", "medication", "diagnosis", "procedures", "imaging", "genetics",
    "questionnaires", "comorbidity", "treatment",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClinicalTerms:
    """The terms of a group; each text lists them separated by commas."""

    group: ClinicalGroup
    labels: str  # what a client may write as `meta_group`, besides the group's own name
    words: str  # words and phrases anywhere in a name
    names: str = ""  # whole names
    units: str = ""  # units that decide where the name does not


# A star stands for the rest of a word. Names are compared in lower case, with blanks for everything but letters and
# digits, and before each word of `camelCase`. Of several terms in a name the one that ends last decides, then the
# longest: the `blood pressure medication` is a medication. The names come from the codebooks of the public cohorts that
# `docs/methods.md` lists.
TERMS: tuple[ClinicalTerms, ...] = (
    ClinicalTerms(
        "demographics",
        labels="demographic, demography, sociodemographics, patient",
        words="age, age at *, sex, gender, male, female, race, ethnic*, nationality, education*, marital, married, "
        "occupation*, employ*, income, insurance, work type, residence*, rural, urban, birth*, social class, "
        "deprivation, country",
        names="age years, educ, raceth, dob",
    ),
    ClinicalTerms(
        "vitals",
        labels="vital, vital signs, vital sign, anthropometry, body measures, examination, physical examination",
        words="blood pressure, systolic, diastolic, heart rate, pulse, respiratory rate, temperature, height, weight, "
        "bmi, body mass*, waist, hip, girth, oxygen saturation, spo2, sao2, skinfold*, skin fold*, skin thickness, "
        "gcs, glasgow coma*, edema, oedema, ascites, jaundice, palpable, liver big, liver firm, hepatomegaly, "
        "splenomegaly, spider*, murmur, killip",
        names="bp, sbp, dbp, sysbp, diabp, diasbp, ap hi, ap lo, trestbps, heartrate, heartrte, wt, lwt, skin, "
        "hepato, pe",
        units="mmhg, bpm, beats/min, breaths/min, kg, cm, kg/m2, kg/m^2, kg/m², °c, lb",
    ),
    ClinicalTerms(
        "laboratory",
        labels="lab, labs, laboratory values, biochemistry, blood, urine, pathology, histology, cytology",
        words="glucose, cholesterol, hdl, ldl, triglycerid*, creatinine, urea, bun, albumin, bilirubin*, hemoglobin, "
        "haemoglobin, hematocrit, haematocrit, hba1c, a1c*, platelet*, leukocyte*, leucocyte*, lymphocyte*, "
        "neutrophil*, monocyte*, eosinophil*, basophil*, sodium, potassium, chloride, calcium, magnesium, phosphate, "
        "bicarbonate, lactate, troponin*, bnp, probnp, ferritin, iron, transferrin, crp, reactive protein, "
        "procalcitonin, fibrinogen, dimer, inr, prothrombin, aptt, sgot, sgpt, ggt, alkaline phosph*, alk phos*, ldh, "
        "amylase, lipase, psa, tsh, urin*, serum, plasma, protein*, white blood cell*, red blood cell*, wbc*, rbc*, "
        "gfr, copper, uric acid, blood sugar, glu, cd4*, cd8*, viral load, histolog*, cytolog*, cell size, cell shape, "
        "clump thickness, nuclei, chromatin, cromatin, nucleoli, mitos*, receptor*",
        names="gluc, chol, totchol, hdlc, ldlc, fbs, hgb, hb, hct, plt, creat, scr, bili, alb, tp, a g ratio, protime, "
        "alt, ast, alp, alphos alkaline phosphotase, trig, na, k, kappa, lambda, mspike, flc grp, estrec, progrec, sg, "
        "al, su, pc, pcc, ba, bgr, bu, sc, sod, pot, hemo, pcv, wbcc, rbcc, cl thickness, marg adhesion, epith c size",
        units="mg/dl, mmol/l, umol/l, μmol/l, nmol/l, pmol/l, g/dl, g/l, mg/l, ug/l, μg/l, ug/dl, ng/ml, pg/ml, ng/dl, "
        "u/l, iu/l, miu/l, mu/l, meq/l, meq/dl, 10^9/l, 10^12/l, 10^3/ul, 10^6/ul, cells/mm3, /ul, k/ul, mosm/kg, "
        "ml/min, ml/min/1.73m2, mm/h",
    ),
    ClinicalTerms(
        "medication",
        labels="medications, drug, drugs, medicine, prescriptions",
        words="drug*, medication*, medicine*, meds, dose*, dosage, prescri*, aspirin, *statin, *statins, *pril, *olol, "
        "*sartan, *dipine, *cillin, *mycin, *formin, *gliptin, *glipton, *gliflozin, *glitazone, *glinide, "
        "*glimepiride, glipizide, glyburide, *butamide, *propamide, *hexamide, *azamide, examide, acarbose, miglitol, "
        "warfarin, *parin, digoxin, steroid*, corticosteroid*, antiviral*, antibiotic*, diuretic*, beta blocker*, "
        "antihypertensive*, anticoagulant*, opioid*, nsaid*, prednis*, furosemide, amiodarone, clopidogrel, "
        "contraceptive*, zidovudine, zdv",
        names="bpmeds, diabetesmed, acei, arb, asa, priorzdv",
        units="mg/day, mg/d, mg/kg, mg/kg/day, units/day, iu/day",
    ),
    ClinicalTerms(
        "diagnosis",
        labels="diagnoses, diagnosis codes, icd, disease, stage, tumour, tumor",
        words="diag, diagnos*, icd, icd9, icd10, stage, staging, grade, tumor*, tumour*, metasta*, lymph node*, nodes, "
        "nodal, cell type, celltype, cancer type, disease group, morphology, topography, tnm, mi type, "
        "nottingham prognostic index",
        names="dx, nodes, tsize, pnodes, tgrade, mitype, differ, extent, adhere, obstruct, perfor",
    ),
    ClinicalTerms(
        "procedures",
        labels="procedure, surgery, operation, admission, hospital stay, function test, exercise test, stress test",
        words="surg*, operation*, procedure*, admission*, discharge*, in hospital, length of stay, icu, ventilat*, "
        "dialysis, transplant*, catheter*, biops*, resection, mastectomy, pci, cabg, exercise test*, stress test*, "
        "spirometry, fev1, fvc, lung function, emergency, inpatient*, outpatient*, visit*, medical specialty, bypass, "
        "stent*, pacemaker, cpt",
        names="los, thalach, exang, oldpeak, ftv",
    ),
    ClinicalTerms(
        "imaging",
        labels="image, radiology, electrocardiogram, ecg, ekg, echocardiography, eeg, recordings",
        words="xray*, x ray*, radiograph*, radiolog*, ct, mri, ultrasound, echo*, ecg, ekg, electrocardio*, "
        "ejection fraction, lvef, qrs*, qt*, st depression, st segment, angiogra*, fluoroscop*, scintigra*, pet, dxa, "
        "bone density, mammogra*, endoscop*, varices, vessels, thallium, eeg",
        names="restecg, thal, ef",
    ),
    ClinicalTerms(
        "genetics",
        labels="genetic, genomics, gene expression, family history",
        words="gene, genes, genotyp*, genom*, genetic*, allele*, snp*, mutation*, mutated, mrna, methylation, "
        "karyotyp*, haplotype*, pedigree, copy number, brca1, brca2, kras, nras, tp53, her2, flt3, npm1, idh1, idh2, "
        "braf, apoe, tmb, family history",
    ),
    ClinicalTerms(
        "questionnaires",
        labels="questionnaire, survey, symptoms, symptom, lifestyle, habits, quality of life, patient reported",
        words="smok*, cigarette*, tobacco, pack years, alcohol*, drink*, diet*, physical activity, sleep*, pain, "
        "fatigue, malaise, nausea, cough*, dyspn*, breathless*, anorexia, appetite, symptom*, questionnaire*, survey, "
        "quality of life, qol, sf36, phq*, gad7, eq5d, mmse, karno*, ecog, performance status, adl, barthel, "
        "cognitive, nyha, weight loss",
        names="cp, currentsmoker, cursmoke, cigsperday, cigpday, ivdrug, alco, active, appet, dsst, meal cal, wt loss",
    ),
    ClinicalTerms(
        "comorbidity",
        labels="comorbidities, medical history, history, obstetric history, past events",
        words="comorbid*, history, hx, previous, prior, prevalent, diabet*, hypertens*, stroke, heart disease, "
        "heart failure, chf, copd, asthma, kidney disease, renal failure, liver disease, cirrhosis, *infarction, "
        "angina, artery disease, atrial fibrillation, depression, dementia, anemia, anaemia, obesity, charlson, "
        "elixhauser, hiv, hepatitis, hemophil*, haemophil*, pregnan*, parity, menopaus*, mgus, epilep*",
        names="htn, dm, cad, ane, cvd, cva, tia, pvd, prevalenthyp, prevalentstroke, prevhyp, prevchd, prevap, prevmi, "
        "prevstrk, ptl, ui, afb, sho, menostat",
    ),
    ClinicalTerms(
        "treatment",
        labels="treatments, treatment assignment, arm, randomisation, randomization, intervention, therapy",
        words="treatment*, treat, arm, random*, allocation, placebo, intervention*, therapy, chemotherapy, "
        "radiotherapy, immunotherapy, study group",
        names="trt, tx, txgrp, rx, horth",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ValueRule:
    """A whole name that belongs to a group only with certain values."""

    name: str
    group: ClinicalGroup
    numeric: bool  # False: a feature of levels
    lower: float = -float("inf")  # all values of a numeric feature lie between the bounds
    upper: float = float("inf")


VALUE_RULES: tuple[ValueRule, ...] = (
    ValueRule("insulin", "laboratory", numeric=True),
    ValueRule("insulin", "medication", numeric=False),  # given or not, up or down
    ValueRule("ca", "imaging", numeric=True, lower=0, upper=4),  # coronary vessels seen by fluoroscopy
    ValueRule("ca", "laboratory", numeric=True, lower=0.5, upper=20),  # calcium, in mmol/l or mg/dl
    ValueRule("ht", "vitals", numeric=True, lower=1.2, upper=230),  # height, in m, inches or cm
    ValueRule("ht", "comorbidity", numeric=False),  # hypertension
    ValueRule("hr", "vitals", numeric=True, lower=20, upper=300),  # heart rate
    ValueRule("rr", "vitals", numeric=True, lower=4, upper=90),  # respiratory rate
    ValueRule("temp", "vitals", numeric=True, lower=25, upper=115),  # in °C or °F
    ValueRule("slope", "procedures", numeric=True, lower=1, upper=3),  # of the ST segment at exercise
    ValueRule("slope", "procedures", numeric=False),
    ValueRule("ph", "laboratory", numeric=True, lower=4, upper=9),
    ValueRule("pt", "laboratory", numeric=True, lower=5, upper=150),  # prothrombin time, in s
    ValueRule("egfr", "laboratory", numeric=True),  # glomerular filtration rate
    ValueRule("egfr", "genetics", numeric=False),  # mutated or not
)

ICD_10 = re.compile(r"[A-TV-Z]\d[0-9AB](?:\.?[0-9A-Z]{1,4})?")
"""A diagnosis code such as I21 or E11.9. A name of this form without a point may mean anything: see `CODES`."""

CODES: tuple[tuple[re.Pattern[str], ClinicalGroup], ...] = (
    (re.compile(r"[A-V]\d{2}[A-Z]{2}\d{2}"), "medication"),  # ATC, seven characters
    (re.compile(r"\d{3,5}-\d"), "laboratory"),  # LOINC
    (re.compile(r"rs\d{3,}(?:_[ACGT])?"), "genetics"),  # dbSNP
    (re.compile(r"[A-TV-Z]\d[0-9AB]\.[0-9A-Z]{1,4}"), "diagnosis"),  # ICD-10 with its point
)
"""Forms of whole names, case-sensitive, that are always codes, by ICD-10 (WHO 2019), ATC (WHO Collaborating Centre for
Drug Statistics), LOINC (Regenstrief Institute) and dbSNP (NCBI)."""

BARE_CODE_LETTERS = 2
"""Distinct first letters that make names such as I21 and E11 ICD-10 codes, unlike X1, X2, ..."""

SHORT_NAME = 2
"""Names of at most two letters count only if a longer one of the same cohort is recognised."""
