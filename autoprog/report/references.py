"""The literature that the report cites, and the numbering of citations in a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_CITED = re.compile(r" ?\[@([a-z0-9_, @]+)\]")
_YEAR = re.compile(r" (\d{4});")


@dataclass(frozen=True)
class Reference:
    """A numbered reference."""

    number: int
    text: str
    doi: str | None

    @property
    def with_doi(self) -> str:
        """The reference as a list shows it."""
        return self.text if self.doi is None else f"{self.text}. doi:{self.doi}"


def cite(*keys: str) -> str:
    """A mark for references, to be numbered by `number_citations`."""
    unknown = [key for key in keys if key not in _REFERENCES]
    if unknown:
        raise KeyError(*unknown)
    return f" [@{','.join(keys)}]"


def author_and_year(key: str) -> str:
    """A work of several authors in brief: `Riley et al. 2020`."""
    text, _ = _REFERENCES[key]
    author = text.partition(",")[0].rpartition(" ")[0]
    return f"{author} et al. {_YEAR.findall(text)[0]}"


def number_citations(texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[Reference, ...]]:
    """Replace the marks of `cite` by numbers in the order of their first use.

    Parameters
    ----------
    texts : sequence of str
        Paragraphs in their order.

    Returns
    -------
    (tuple of str, tuple of Reference)
        The paragraphs, with `[1,2]` for a mark, and the references by number.
    """
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        keys = match[1].split(",")
        found = [numbers.setdefault(key, len(numbers) + 1) for key in keys]
        return f" [{','.join(map(str, found))}]"

    replaced = tuple(_CITED.sub(numbered, text) for text in texts)
    return replaced, tuple(Reference(n, *_REFERENCES[key]) for key, n in numbers.items())


def without_citations(text: str) -> str:
    """A text without the marks of `cite`."""
    return _CITED.sub("", text)


TRIPOD = "Collins GS, Moons KGM, Dhiman P, et al. BMJ 2024;385:e078378, doi:10.1136/bmj-2023-078378"
PROBAST = "Moons KGM, Damen JAA, Kaul T, et al. BMJ 2025;388:e082505, doi:10.1136/bmj-2024-082505"
MODEL_CARDS = "Mitchell M, Wu S, Zaldivar A, et al. FAT* 2019:220-229, doi:10.1145/3287560.3287596"

# Authors, title, place; DOI. By the key that `cite` takes.
_REFERENCES: dict[str, tuple[str, str | None]] = {
    "aalen": (
        (
            "Aalen OO, Johansen S. An empirical transition matrix for non-homogeneous Markov chains based on censored "
            "observations. Scand J Stat 1978;5:141-150"
        ),
        None,
    ),
    "alaa": (
        (
            "Alaa AM, van der Schaar M. AutoPrognosis: automated clinical prognostic modeling via Bayesian "
            "optimization with structured kernel learning. ICML 2018"
        ),
        "10.48550/arXiv.1802.07207",
    ),
    "ament": (
        (
            "Ament S, Daulton S, Eriksson D, Balandat M, Bakshy E. Unexpected improvements to expected improvement for "
            "Bayesian optimization. NeurIPS 2023"
        ),
        "10.48550/arXiv.2310.20708",
    ),
    "andersen": (
        "Andersen PK, Perme MP. Pseudo-observations in survival analysis. Stat Methods Med Res 2010;19:71-99",
        "10.1177/0962280209105020",
    ),
    "austin": (
        (
            "Austin PC, Steyerberg EW. The Integrated Calibration Index (ICI) and related metrics for quantifying the "
            "calibration of logistic regression models. Stat Med 2019;38:4051-4065"
        ),
        "10.1002/sim.8281",
    ),
    "benjamini": (
        (
            "Benjamini Y, Yekutieli D. The control of the false discovery rate in multiple testing under dependency. "
            "Ann Stat 2001;29:1165-1188"
        ),
        "10.1214/aos/1013699998",
    ),
    "blanche": (
        (
            "Blanche P, Dartigues JF, Jacqmin-Gadda H. Estimating and comparing time-dependent areas under receiver "
            "operating characteristic curves for censored event times with competing risks. Stat Med 2013;32:5381-5397"
        ),
        "10.1002/sim.5958",
    ),
    "breiman": ("Breiman L. Stacked regressions. Mach Learn 1996;24:49-64", "10.1007/BF00117832"),
    "calster": (
        (
            "Van Calster B, McLernon DJ, van Smeden M, Wynants L, Steyerberg EW. Calibration: the Achilles heel of "
            "predictive analytics. BMC Med 2019;17:230"
        ),
        "10.1186/s12916-019-1466-7",
    ),
    "caruana": (
        "Caruana R, Niculescu-Mizil A, Crew G, Ksikes A. Ensemble selection from libraries of models. ICML 2004",
        "10.1145/1015330.1015432",
    ),
    "cox": (
        "Cox DR. Two further applications of a model for binary regression. Biometrika 1958;45:562-565",
        "10.1093/biomet/45.3-4.562",
    ),
    "delong": (
        (
            "DeLong ER, DeLong DM, Clarke-Pearson DL. Comparing the areas under two or more correlated receiver "
            "operating characteristic curves: a nonparametric approach. Biometrics 1988;44:837-845"
        ),
        "10.2307/2531595",
    ),
    "gerds": (
        (
            "Gerds TA, Schumacher M. Consistent estimation of the expected Brier score in general survival models with "
            "right-censored event times. Biom J 2006;48:1029-1040"
        ),
        "10.1002/bimj.200610301",
    ),
    "haider": (
        (
            "Haider H, Hoehn B, Davis S, Greiner R. Effective ways to build and evaluate individual survival "
            "distributions. J Mach Learn Res 2020;21(85):1-63"
        ),
        None,
    ),
    "maron": (
        "Maron O, Moore AW. The racing algorithm: model selection for lazy learners. Artif Intell Rev 1997;11:193-225",
        "10.1023/A:1006556606079",
    ),
    "nadeau": (
        "Nadeau C, Bengio Y. Inference for the generalization error. Mach Learn 2003;52:239-281",
        "10.1023/A:1024068626366",
    ),
    "ploeg": (
        (
            "van der Ploeg T, Austin PC, Steyerberg EW. Modern modelling techniques are data hungry: a simulation "
            "study for predicting dichotomous endpoints. BMC Med Res Methodol 2014;14:137"
        ),
        "10.1186/1471-2288-14-137",
    ),
    "riley_binary": (
        (
            "Riley RD, Ensor J, Snell KIE, et al. Calculating the sample size required for developing a clinical "
            "prediction model. BMJ 2020;368:m441"
        ),
        "10.1136/bmj.m441",
    ),
    "riley_times": (
        (
            "Riley RD, Snell KIE, Ensor J, et al. Minimum sample size for developing a multivariable prediction model: "
            "part II, binary and time-to-event outcomes. Stat Med 2019;38:1276-1296"
        ),
        "10.1002/sim.7992",
    ),
    "riley_validation": (
        (
            "Riley RD, Snell KIE, Archer L, et al. Evaluation of clinical prediction models (part 3): calculating the "
            "sample size required for an external validation study. BMJ 2024;384:e074821"
        ),
        "10.1136/bmj-2023-074821",
    ),
    "binder": (
        (
            "Binder DA. On the variances of asymptotically normal estimators from complex surveys. Int Stat Rev "
            "1983;51:279-292"
        ),
        "10.2307/1402588",
    ),
    "schemper": (
        (
            "Schemper M, Smith TL. A note on quantifying follow-up in studies of failure time. Control Clin Trials "
            "1996;17:343-346"
        ),
        "10.1016/0197-2456(96)00075-X",
    ),
    "stability": (
        (
            "Riley RD, Collins GS. Stability of clinical prediction models developed using statistical or machine "
            "learning methods. Biom J 2023;65:2200302"
        ),
        "10.1002/bimj.202200302",
    ),
    "steyerberg": (
        (
            "Steyerberg EW, Vickers AJ, Cook NR, et al. Assessing the performance of prediction models: a framework "
            "for traditional and novel measures. Epidemiology 2010;21:128-138"
        ),
        "10.1097/EDE.0b013e3181c30fb2",
    ),
    "tsamardinos": (
        (
            "Tsamardinos I, Greasidou E, Borboudakis G. Bootstrapping the out-of-sample predictions for efficient and "
            "accurate cross-validation. Mach Learn 2018;107:1895-1922"
        ),
        "10.1007/s10994-018-5714-4",
    ),
    "uno": (
        (
            "Uno H, Cai T, Pencina MJ, D'Agostino RB, Wei LJ. On the C-statistics for evaluating overall adequacy of "
            "risk prediction procedures with censored survival data. Stat Med 2011;30:1105-1117"
        ),
        "10.1002/sim.4154",
    ),
    "vickers": (
        (
            "Vickers AJ, Elkin EB. Decision curve analysis: a novel method for evaluating prediction models. Med Decis "
            "Making 2006;26:565-574"
        ),
        "10.1177/0272989X06295361",
    ),
    "wolbers": (
        (
            "Wolbers M, Blanche P, Koller MT, Witteman JCM, Gerds TA. Concordance for prognostic models with competing "
            "risks. Biostatistics 2014;15:526-539"
        ),
        "10.1093/biostatistics/kxt059",
    ),
    "wolpert": ("Wolpert DH. Stacked generalization. Neural Netw 1992;5:241-259", "10.1016/S0893-6080(05)80023-1"),
    "yao": (
        (
            "Yao Y, Vehtari A, Simpson D, Gelman A. Using stacking to average Bayesian predictive distributions. "
            "Bayesian Anal 2018;13:917-1007"
        ),
        "10.1214/17-BA1091",
    ),
}
