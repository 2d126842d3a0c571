"""The 27 items of TRIPOD+AI with their 52 subitems, each broken into the elements that it asks for.

Numbers, topics and applicability are those of the statement (Collins et al., BMJ 2024;385:e078378, CC BY 4.0);
questions and elements are paraphrased. The abstract's elements follow TRIPOD+AI for Abstracts, in the same paper.

The elements are this program's own division of the items. The official adherence form counts 136 elements; its list was
not at hand, so counts of these elements are not counts of that form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Applies = Literal["D", "E", "D;E"]
"""Whether an item is for development, evaluation, or both."""


@dataclass(frozen=True)
class Element:
    """One thing that an item asks to report.

    Attributes
    ----------
    number : str
        Number of its item and its place there, such as `12c.4`.
    asked : str
        What must be reported, in a few words.
    advice : str
        What the author writes if the run does not know it.
    """

    number: str
    asked: str
    advice: str


@dataclass(frozen=True)
class Item:
    """A subitem of the statement.

    Attributes
    ----------
    number : str
        As in the statement, such as `12c`.
    section, topic : str
        As in the statement.
    applies : {"D", "E", "D;E"}
        Whether it is for development, evaluation, or both.
    question : str
        What it asks, paraphrased.
    elements : tuple of Element
        What it asks for, one by one.
    """

    number: str
    section: str
    topic: str
    applies: Applies
    question: str
    elements: tuple[Element, ...]


STORED = "Write this from your records; the run did not store it."
"""Advice where a run usually knows the answer."""


def _item(
    number: str,
    section: str,
    topic: str,
    applies: Applies,
    question: str,
    *elements: tuple[str, str] | str,
) -> Item:
    """An item whose elements are what is asked with its advice, or what is asked alone where a run knows it."""
    pairs = [(each, STORED) if isinstance(each, str) else each for each in elements]
    numbered = tuple(Element(f"{number}.{k}", *pair) for k, pair in enumerate(pairs, 1))
    return Item(number, section, topic, applies, question, numbered)


_T, _A, _I, _M, _O, _P, _R, _D = (
    "Title",
    "Abstract",
    "Introduction",
    "Methods",
    "Open science",
    "Patient and public involvement",
    "Results",
    "Discussion",
)

ITEMS: tuple[Item, ...] = (
    _item(
        "1", _T, "Title", "D;E", "Does the title say what kind of study this is, for whom and for which outcome?",
        "Development or evaluation of a prediction model",
        ("Target population", "Name the patients for whom the model is meant."),
        "Predicted outcome",
    ),
    _item(
        "2", _A, "Abstract", "D;E", "Does the abstract follow TRIPOD+AI for Abstracts?",
        ("Healthcare context and rationale", "Say in one or two sentences why this model is needed."),
        "Objectives, with development or evaluation",
        ("Sources of data", "Name the source, such as a registry or a trial."),
        ("Eligibility criteria and setting", "Name who was included, and where."),
        "Outcome, with its time horizon",
        "Type of model and steps of model building",
        "Method of internal validation",
        "Measures of performance",
        "Numbers of participants and events",
        "Predictors of the final model",
        "Performance with intervals",
        ("Overall interpretation", "Say what the result means for practice."),
        ("Registration", "Give register and number, or say that the study was not registered."),
    ),
    _item(
        "3a", _I, "Background", "D;E", "What is the healthcare context, and why is the model developed or evaluated?",
        ("Healthcare context", "Describe the clinical problem."),
        ("Diagnosis or prognosis", "Say which of the two the model serves."),
        ("Rationale", "Say which decision the model shall support and why it is needed."),
        ("Existing models", "Cite the models that exist for this purpose."),
    ),
    _item(
        "3b", _I, "Background", "D;E", "For whom is the model meant, for what purpose, and who will use it?",
        ("Target population", "Describe the patients for whom the model is meant."),
        ("Purpose in the care pathway", "Say at which point of care and for which decision it is used."),
        ("Intended users", "Name who uses it: clinicians, patients or the public."),
    ),
    _item(
        "3c", _I, "Background", "D;E", "Which health inequalities between sociodemographic groups are known?",
        ("Known inequalities", "Describe them with references, or say that none are known."),
    ),
    _item(
        "4", _I, "Objectives", "D;E", "What are the objectives of the study?",
        "Objectives",
        "Development, evaluation, or both",
    ),
    _item(
        "5a", _M, "Data", "D;E", "Where do the data come from, and whom do they represent?",
        ("Source of the development data", "Name it: trial, cohort, routine care or registry."),
        ("Source of the evaluation data", "Name it, if the model was validated in other data."),
        ("Rationale for these data", "Say why these data suit the question."),
        ("Representativeness", "Say how far these patients resemble those for whom the model is meant."),
    ),
    _item(
        "5b", _M, "Data", "D;E", "When were the data collected?",
        ("Start of accrual", "Give the date of the first inclusion."),
        ("End of accrual", "Give the date of the last inclusion."),
        ("End of follow-up", "Give the date, if patients were followed up."),
    ),
    _item(
        "6a", _M, "Participants", "D;E", "In which setting were the data collected?",
        ("Setting", "Name it: primary or secondary care, or the general population."),
        ("Number of centres", "Give the number."),
        ("Location of centres", "Give countries or regions."),
    ),
    _item(
        "6b", _M, "Participants", "D;E", "Who was eligible?",
        ("Eligibility criteria", "List the criteria of inclusion and exclusion."),
    ),
    _item(
        "6c", _M, "Participants", "D;E", "Which treatments were received, and how were they handled?",
        ("Treatments received", "List those that affect the outcome, or say that none matter."),
        ("How treatments were handled", "Say whether treatments are predictors, were ignored or were adjusted for."),
    ),
    _item(
        "7", _M, "Data preparation", "D;E", "How were the data prepared and checked?",
        "Preprocessing",
        "Quality checks",
        "Whether preparation was alike across sociodemographic groups",
    ),
    _item(
        "8a", _M, "Outcome", "D;E", "What is the outcome, until when, and how was it assessed?",
        "Outcome as it was analysed",
        ("Clinical definition", "Define the outcome as a clinician would check it."),
        ("Time horizon", "Give the time from the moment of prediction within which the outcome counts."),
        ("How the outcome was assessed", "Describe the assessment."),
        ("When the outcome was assessed", "Give the time points."),
        ("Rationale for the outcome", "Say why it matters to patients."),
        ("Consistency across sociodemographic groups", "Say whether the assessment was the same for all groups."),
    ),
    _item(
        "8b", _M, "Outcome", "D;E", "Who assessed an outcome that needs judgement?",
        ("Qualifications of the assessors", "Describe them, or say that no judgement was needed."),
        ("Demographics of the assessors", "Describe them, or say that no judgement was needed."),
    ),
    _item(
        "8c", _M, "Outcome", "D;E", "Was the outcome assessed blind?",
        ("Blinding of the outcome", "Say whether the assessors knew the predictors."),
    ),
    _item(
        "9a", _M, "Predictors", "D", "How were the initial predictors chosen?",
        "Initial predictors",
        ("Reasons for their choice", "Say why these columns were offered: literature, earlier models or availability."),
        "Selection before model building",
    ),
    _item(
        "9b", _M, "Predictors", "D;E", "How are the predictors defined and measured?",
        "Name, kind and coding of each predictor",
        ("Units", "Give the unit of each measurement; a spec may hold them."),
        ("How predictors were measured", "Describe method and device where they matter."),
        ("When predictors were measured", "Give the time relative to the moment of prediction."),
        ("Blinding of predictors", "Say whether assessors knew the outcome or other predictors."),
    ),
    _item(
        "9c", _M, "Predictors", "D;E", "Who assessed predictors that need judgement?",
        ("Qualifications of the assessors", "Describe them, or say that no judgement was needed."),
        ("Demographics of the assessors", "Describe them, or say that no judgement was needed."),
    ),
    _item(
        "10", _M, "Sample size", "D;E", "How was the study size arrived at, and does it suffice?",
        ("How the size was arrived at", "Say whether all available patients were used or a size was planned."),
        "Whether the size suffices for development",
        "Calculation of the sample size",
        "Events per candidate parameter",
        "Whether the size suffices for evaluation",
    ),
    _item(
        "11", _M, "Missing data", "D;E", "How were missing data handled?",
        "Missing predictors",
        "Missing outcomes",
        "Reasons for leaving data out",
        "Missing values when the model is used",
    ),
    _item(
        "12a", _M, "Analytical methods", "D", "How were the data used and partitioned?",
        "Use of the data for development and evaluation",
        "Partition of the data",
        "Bearing of the sample size on the partition",
    ),
    _item(
        "12b", _M, "Analytical methods", "D", "How were predictors handled in the analyses?",
        "Functional form",
        "Rescaling and standardisation",
        "Coding of categories",
        "Transformation or reduction of predictors",
    ),
    _item(
        "12c", _M, "Analytical methods", "D", "What is the model, and how was it built and validated internally?",
        "Type of model",
        ("Rationale for the type of model", "Say why machine learning, or a simpler model, suits the question."),
        "Candidate algorithms",
        "Search strategy",
        "Budget and number of candidates evaluated",
        "Tuning of hyperparameters",
        "Selection of predictors during modelling",
        "Interactions",
        "Combination into the final model",
        "Recalibration during development",
        "Internal validation",
        "Whether all steps were repeated in the internal validation",
        "Correction for optimism",
        "Handling of censoring and competing events",
        "Software, versions and seed",
    ),
    _item(
        "12d", _M, "Analytical methods", "D;E", "How was heterogeneity across clusters handled?",
        "Clusters in the partition of the data",
        "Heterogeneity of parameters across clusters",
        "Heterogeneity of performance across clusters",
    ),
    _item(
        "12e", _M, "Analytical methods", "D;E", "By which measures and plots was performance evaluated?",
        "Discrimination",
        "Calibration",
        "Overall accuracy",
        "Clinical utility",
        "Plots",
        "Intervals",
        "Comparison of models",
        ("Stability of the predictions", "Not examined, as no time was left for refits: give the search more time."),
        ("Rationale for measures and thresholds", "Say why these thresholds matter in practice."),
    ),
    _item(
        "12f", _M, "Analytical methods", "E", "Was the model updated after the evaluation?",
        "Updating overall",
        "Updating for particular groups or settings",
    ),
    _item(
        "12g", _M, "Analytical methods", "E", "How were predictions calculated in the evaluation?",
        "Calculation of the predictions",
    ),
    _item(
        "13", _M, "Class imbalance", "D;E", "Were methods for class imbalance used?",
        "Methods and where they were used",
        "Reason",
        "Recalibration afterwards",
    ),
    _item(
        "14", _M, "Fairness", "D;E", "How was fairness addressed?",
        "Approaches to fairness",
        ("Rationale", "Say which groups matter in this population and why."),
    ),
    _item(
        "15", _M, "Model output", "D", "What does the model output?",
        "Output of the model",
        "Classification and its thresholds",
        "How the thresholds were identified",
        ("Rationale for a classification", "Say what follows for patients of a stratum, or that strata only describe."),
    ),
    _item(
        "16", _M, "Training versus evaluation", "D;E", "How do development and evaluation data differ?",
        ("Setting", "Compare the two settings."),
        ("Eligibility criteria", "Compare them."),
        ("Outcome", "Compare definition and assessment."),
        ("Predictors", "Compare definition and measurement."),
    ),
    _item(
        "17", _M, "Ethical approval", "D;E", "Who approved the study, and did participants consent?",
        ("Ethics committee", "Name the committee and the number of its approval."),
        ("Consent or its waiver", "Describe consent, or the committee's waiver."),
    ),
    _item(
        "18a", _O, "Funding", "D;E", "Who funded the study?",
        ("Source of funding", "Name it."),
        ("Role of the funders", "Say what part they had in the study."),
    ),
    _item(
        "18b", _O, "Conflicts of interest", "D;E", "Which conflicts of interest are there?",
        ("Conflicts and disclosures", "Declare them for all authors."),
    ),
    _item(
        "18c", _O, "Protocol", "D;E", "Where is the protocol?",
        ("Protocol", "Say where it can be read, or that none was prepared."),
    ),
    _item(
        "18d", _O, "Registration", "D;E", "Was the study registered?",
        ("Registration", "Give register and number, or say that it was not registered."),
    ),
    _item(
        "18e", _O, "Data sharing", "D;E", "Are the data available?",
        ("Availability of the data", "Say where and under which conditions."),
    ),
    _item(
        "18f", _O, "Code sharing", "D;E", "Is the code available?",
        "Software of the analysis",
        ("Availability of your own code", "Say where the code that prepared your file can be found."),
    ),
    _item(
        "19", _P, "Patient and public involvement", "D;E", "How were patients and the public involved?",
        ("Involvement", "Describe it, or say that there was none."),
    ),
    _item(
        "20a", _R, "Participants", "D;E", "How did participants flow through the study?",
        ("Participants before the file was made", "Give the number screened and excluded before the file."),
        "Participants in the file, left out and analysed",
        "Participants with and without the outcome",
        "Follow-up time",
        "Diagram",
    ),
    _item(
        "20b", _R, "Participants", "D;E", "What are the characteristics of the participants?",
        "Predictors overall and by outcome",
        ("Key dates", "Give them for each source of data."),
        ("Treatments received", "Summarise those that affect the outcome."),
        "Sample size",
        "Number of events",
        "Follow-up time",
        "Amount of missing data",
        ("Differences across demographic groups", "Compare the characteristics of groups such as sexes and ages."),
    ),
    _item(
        "20c", _R, "Participants", "E", "How do evaluation and development data compare?",
        "Demographics and predictors",
        "Outcome",
    ),
    _item(
        "21", _R, "Model development", "D;E", "How many participants and events entered each analysis?",
        "Participants and events in development",
        "Participants in tuning",
        "Participants and events in evaluation",
    ),
    _item(
        "22", _R, "Model specification", "D", "What is the full model, and how can others use it?",
        "Members, weights and hyperparameters",
        "Recalibration of the model",
        "Means to predict for new individuals",
        "Means for third parties to evaluate and implement it",
        ("Restrictions to access or reuse", "Say under which terms the model can be had."),
    ),
    _item(
        "23a", _R, "Model performance", "D;E", "How well does the model perform, with intervals?",
        "Discrimination",
        "Calibration",
        "Overall accuracy",
        "Clinical utility",
        "Performance corrected for optimism",
        "Comparison with the simple model",
        ("Subgroups", "No subgroup was large enough, or none was named: say that none was examined, or name some."),
        ("Stability", "Not examined, as no time was left for refits: give the search more time."),
        "Plots",
    ),
    _item(
        "23b", _R, "Model performance", "D;E", "How does performance differ across clusters?",
        ("Heterogeneity across clusters", "Report it, if it was examined."),
    ),
    _item(
        "24", _R, "Model updating", "E", "What did updating give?",
        "Updated model",
        "Its performance",
    ),
    _item(
        "25", _D, "Interpretation", "D;E", "What do the main results mean?",
        ("Overall interpretation", "Interpret the results in the light of the objectives."),
        ("Fairness", "Discuss differences between groups."),
        ("Previous studies", "Compare with other models."),
    ),
    _item(
        "26", _D, "Limitations", "D;E", "What are the limitations?",
        ("Non-representative sample", "Discuss whom these patients do not represent."),
        "Sample size",
        "Overfitting",
        "Missing data",
        ("Effects on bias, uncertainty and generalisability", "Discuss what each limitation does to the results."),
    ),
    _item(
        "27a", _D, "Usability", "D", "How should poor or missing input be handled when the model is used?",
        "How it is detected",
        "How it is handled",
    ),
    _item(
        "27b", _D, "Usability", "D", "What do users have to do and to know?",
        "Interaction with the input or the model",
        ("Required expertise", "Say who may enter and interpret the values."),
    ),
    _item(
        "27c", _D, "Usability", "D;E", "What should follow?",
        ("Next steps", "Plan external validation and the study of use in care."),
        "Size of a further validation",
    ),
)  # fmt: skip
"""All subitems in the statement's order."""
