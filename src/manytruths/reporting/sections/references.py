"""The references of the methods as BibTeX. ``[Fleiss 1971]`` in a text cites the key ``Fleiss1971``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import manytruths

CITATION = re.compile(r"\[([^\[\]]+)\]")
SOFTWARE = "manytruths"


@dataclass(frozen=True)
class Reference:
    """An entry of a bibliography."""

    cited: str
    """How a text cites it: ``Fleiss 1971``."""
    kind: str
    author: str
    title: str
    where: str
    """The journal, the book or the publisher."""
    volume: str = ""
    pages: str = ""
    doi: str = ""

    @property
    def key(self) -> str:
        """The key of the entry."""
        return self.cited.replace(" ", "")

    @property
    def year(self) -> str:
        """The year of publication."""
        return self.cited.rpartition(" ")[2]

    def bibtex(self) -> str:
        """The entry as BibTeX."""
        home = {"article": "journal", "inproceedings": "booktitle", "book": "publisher"}[self.kind]
        fields = {
            "author": self.author, "title": self.title, home: self.where, "year": self.year,
            "volume": self.volume, "pages": self.pages, "doi": self.doi,
        }  # fmt: skip
        return _entry(self.kind, self.key, fields)


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def _software() -> str:
    """The entry of this software, as in ``CITATION.cff``, without a year."""
    title = "manytruths: agreement and ground truth of several raters' image annotations"
    fields = {"author": "{The manytruths developers}", "title": title, "version": manytruths.__version__}
    return _entry("software", SOFTWARE, {**fields, "note": f"Version {manytruths.__version__}, Apache-2.0"})


def cite(*cited: str) -> str:
    """The citation that follows a name: `` [Fleiss 1971; Gwet 2008]``; empty without references."""
    unknown = [reference for reference in cited if reference not in REFERENCES and reference != SOFTWARE]
    assert not unknown, unknown
    return f" [{'; '.join(dict.fromkeys(cited))}]" if cited else ""


def cited_in(text: str) -> list[str]:
    """The references that a text cites, each once, in order of appearance."""
    citations = [reference for group in CITATION.findall(text) for reference in group.split("; ")]
    return list(dict.fromkeys(reference for reference in citations if reference in REFERENCES or reference == SOFTWARE))


def cite_once(text: str) -> str:
    """The text with every reference cited only where it first appears."""
    earlier: set[str] = set()

    def first(group: re.Match[str]) -> str:
        cited = group[1].split("; ")
        if not all(reference in REFERENCES or reference == SOFTWARE for reference in cited):
            return group[0]
        fresh = [reference for reference in cited if reference not in earlier]
        earlier.update(fresh)
        return cite(*fresh)

    return re.sub(r" \[([^\[\]]+)\]", first, text)


def bibliography(cited: Iterable[str]) -> str:
    """The entries of the cited references by key, the software last."""
    known = sorted({reference for reference in cited if reference != SOFTWARE})
    entries = [REFERENCES[reference].bibtex() for reference in known]
    return "\n\n".join([*entries, *([_software()] if SOFTWARE in cited else [])]) + "\n"


PAMI, TMI = "{IEEE} Transactions on Pattern Analysis and Machine Intelligence", "{IEEE} Transactions on Medical Imaging"
BIOMETRICS, LNCS = "Biometrics", "Lecture Notes in Computer Science"

_REFERENCES = (
    Reference("Altman 1991", "book", "Altman, Douglas G.", "Practical Statistics for Medical Research",
              "Chapman and Hall"),
    Reference("Arbelaez 2011", "article",
              r"Arbel{\'a}ez, Pablo and Maire, Michael and Fowlkes, Charless and Malik, Jitendra",
              "Contour detection and hierarchical image segmentation", PAMI, "33", "898--916",
              "10.1109/TPAMI.2010.161"),
    Reference("Arthur 2007", "inproceedings", "Arthur, David and Vassilvitskii, Sergei",
              "k-means++: the advantages of careful seeding", "{ACM-SIAM} Symposium on Discrete Algorithms", "",
              "1027--1035"),
    Reference("Berger 1982", "article", "Berger, Roger L.", "Multiparameter hypothesis testing and acceptance sampling",
              "Technometrics", "24", "295--300", "10.1080/00401706.1982.10487790"),
    Reference("Byrt 1993", "article", "Byrt, Ted and Bishop, Janet and Carlin, John B.", "Bias, prevalence and kappa",
              "Journal of Clinical Epidemiology", "46", "423--429", "10.1016/0895-4356(93)90018-V"),
    Reference("Cohen 1960", "article", "Cohen, Jacob", "A coefficient of agreement for nominal scales",
              "Educational and Psychological Measurement", "20", "37--46", "10.1177/001316446002000104"),
    Reference("Cohen 1968", "article", "Cohen, Jacob",
              "Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial credit",
              "Psychological Bulletin", "70", "213--220", "10.1037/h0026256"),
    Reference("Commowick 2010", "inproceedings", "Commowick, Olivier and Warfield, Simon K.",
              "Incorporating priors on expert performance parameters for segmentation validation and label fusion: "
              "a maximum a posteriori {STAPLE}", f"{{MICCAI}} 2010, {LNCS}", "6363", "25--32",
              "10.1007/978-3-642-15711-0_4"),
    Reference("Commowick 2012", "article", "Commowick, Olivier and Akhondi-Asl, Alireza and Warfield, Simon K.",
              "Estimating a reference standard segmentation with spatially varying performance parameters: "
              "local {MAP STAPLE}", TMI, "31", "1593--1606", "10.1109/TMI.2012.2197406"),
    Reference("Davis 2006", "inproceedings", "Davis, Jesse and Goadrich, Mark",
              "The relationship between precision-recall and {ROC} curves",
              "International Conference on Machine Learning", "", "233--240", "10.1145/1143844.1143874"),
    Reference("Dawid 1979", "article", "Dawid, A. P. and Skene, A. M.",
              "Maximum likelihood estimation of observer error-rates using the {EM} algorithm", "Applied Statistics",
              "28", "20--28", "10.2307/2346806"),
    Reference("Dice 1945", "article", "Dice, Lee R.",
              "Measures of the amount of ecologic association between species", "Ecology", "26", "297--302",
              "10.2307/1932409"),
    Reference("Efron 1993", "book", "Efron, Bradley and Tibshirani, Robert J.", "An Introduction to the Bootstrap",
              r"Chapman \& Hall"),
    Reference("Fleiss 1971", "article", "Fleiss, Joseph L.",
              "Measuring nominal scale agreement among many raters", "Psychological Bulletin", "76", "378--382",
              "10.1037/h0031619"),
    Reference("Fleiss 1981", "book", "Fleiss, Joseph L.",
              "Statistical Methods for Rates and Proportions, 2nd edition", "Wiley"),
    Reference("Gordon 2009", "article",
              "Gordon, Shiri and Lotenberg, Shelly and Long, Rodney and Antani, Sameer and Jeronimo, Jose and "
              "Greenspan, Hayit",
              "Evaluation of uterine cervix segmentations using ground truth from multiple experts",
              "Computerized Medical Imaging and Graphics", "33", "205--216", "10.1016/j.compmedimag.2008.12.002"),
    Reference("Guo 1989", "article", "Guo, Zicheng and Hall, Richard W.",
              "Parallel thinning with two-subiteration algorithms", "Communications of the {ACM}", "32", "359--373",
              "10.1145/62065.62074"),
    Reference("Gwet 2008", "article", "Gwet, Kilem Li",
              "Computing inter-rater reliability and its variance in the presence of high agreement",
              "British Journal of Mathematical and Statistical Psychology", "61", "29--48",
              "10.1348/000711006X126600"),
    Reference("Gwet 2014", "book", "Gwet, Kilem Li",
              "Handbook of Inter-Rater Reliability: The Definitive Guide to Measuring the Extent of Agreement Among "
              "Raters, 4th edition", "Advanced Analytics, LLC"),
    Reference("Hanley 1982", "article", "Hanley, James A. and McNeil, Barbara J.",
              "The meaning and use of the area under a receiver operating characteristic ({ROC}) curve", "Radiology",
              "143", "29--36", "10.1148/radiology.143.1.7063747"),
    Reference("Hayes 2007", "article", "Hayes, Andrew F. and Krippendorff, Klaus",
              "Answering the call for a standard reliability measure for coding data",
              "Communication Methods and Measures", "1", "77--89", "10.1080/19312450709336664"),
    Reference("Holm 1979", "article", "Holm, Sture", "A simple sequentially rejective multiple test procedure",
              "Scandinavian Journal of Statistics", "6", "65--70"),
    Reference("Huttenlocher 1993", "article",
              "Huttenlocher, Daniel P. and Klanderman, Gregory A. and Rucklidge, William J.",
              "Comparing images using the {Hausdorff} distance", PAMI, "15", "850--863", "10.1109/34.232073"),
    Reference("Jaccard 1912", "article", "Jaccard, Paul", "The distribution of the flora in the alpine zone",
              "New Phytologist", "11", "37--50", "10.1111/j.1469-8137.1912.tb05611.x"),
    Reference("Kendall 1945", "article", "Kendall, M. G.", "The treatment of ties in ranking problems", "Biometrika",
              "33", "239--251", "10.1093/biomet/33.3.239"),
    Reference("Kish 1965", "book", "Kish, Leslie", "Survey Sampling", "Wiley"),
    Reference("Landis 1977", "article", "Landis, J. Richard and Koch, Gary G.",
              "The measurement of observer agreement for categorical data", BIOMETRICS, "33", "159--174",
              "10.2307/2529310"),
    Reference("Lampert 2016", "article", r"Lampert, Thomas A. and Stumpf, Andr{\'e} and Gan{\c{c}}arski, Pierre",
              "An empirical study into annotator agreement, ground truth estimation, and algorithm evaluation",
              "{IEEE} Transactions on Image Processing", "25", "2557--2572", "10.1109/TIP.2016.2544703"),
    Reference("Langerak 2010", "article",
              "Langerak, Thomas Robin and van der Heide, Uulke A. and Kotte, Alexis N. T. J. and Viergever, Max A. and "
              "van Vulpen, Marco and Pluim, Josien P. W.",
              "Label fusion in atlas-based segmentation using a selective and iterative method for performance level "
              "estimation ({SIMPLE})", TMI, "29", "2000--2008", "10.1109/TMI.2010.2057442"),
    Reference("Li 2011", "inproceedings", "Li, Xiang and Aldridge, Ben and Fisher, Robert and Rees, Jonathan",
              "Estimating the ground truth from multiple individual segmentations incorporating prior pattern analysis "
              "with application to skin lesion segmentation",
              "{IEEE} International Symposium on Biomedical Imaging: From Nano to Macro", "", "1438--1441",
              "10.1109/ISBI.2011.5872670"),
    Reference("Maier-Hein 2018", "article", "Maier-Hein, Lena and Eisenmann, Matthias and Reinke, Annika and others",
              "Why rankings of biomedical image analysis competitions should be interpreted with care",
              "Nature Communications", "9", "5217", "10.1038/s41467-018-07619-7"),
    Reference("Martin 2004", "article", "Martin, David R. and Fowlkes, Charless C. and Malik, Jitendra",
              "Learning to detect natural image boundaries using local brightness, color, and texture cues", PAMI,
              "26", "530--549", "10.1109/TPAMI.2004.1273918"),
    Reference("Mosimann 1962", "article", "Mosimann, James E.",
              r"On the compound multinomial distribution, the multivariate $\beta$-distribution, and correlations "
              "among proportions", "Biometrika", "49", "65--82", "10.1093/biomet/49.1-2.65"),
    Reference("Nikolov 2021", "article", "Nikolov, Stanislav and Blackwell, Sam and Zverovitch, Alexei and others",
              "Clinically applicable segmentation of head and neck anatomy for radiotherapy: deep learning algorithm "
              "development and validation study", "Journal of Medical Internet Research", "23", "e26151",
              "10.2196/26151"),
    Reference("Qu 1996", "article", "Qu, Yinsheng and Tan, Ming and Kutner, Michael H.",
              "Random effects models in latent class analysis for evaluating accuracy of diagnostic tests", BIOMETRICS,
              "52", "797--810", "10.2307/2533043"),
    Reference("Shrout 1998", "article", "Shrout, Patrick E.",
              "Measurement reliability and agreement in psychiatry", "Statistical Methods in Medical Research", "7",
              "301--317", "10.1177/096228029800700306"),
    Reference("Smyth 1996", "article", "Smyth, Padhraic",
              "Bounds on the mean classification error rate of multiple experts", "Pattern Recognition Letters", "17",
              "1253--1257", "10.1016/0167-8655(96)00105-5"),
    Reference("Ward 1963", "article", "Ward, Jr., Joe H.", "Hierarchical grouping to optimize an objective function",
              "Journal of the American Statistical Association", "58", "236--244", "10.1080/01621459.1963.10500845"),
    Reference("Warfield 2004", "article", "Warfield, Simon K. and Zou, Kelly H. and Wells, William M.",
              "Simultaneous truth and performance level estimation ({STAPLE}): an algorithm for the validation of "
              "image segmentation", TMI, "23", "903--921", "10.1109/TMI.2004.828354"),
    Reference("Wiesenfarth 2021", "article",
              "Wiesenfarth, Manuel and Reinke, Annika and Landman, Bennett A. and Eisenmann, Matthias and "
              "Aguilera Saiz, Laura and Cardoso, M. Jorge and Maier-Hein, Lena and Kopp-Schneider, Annette",
              "Methods and open-source toolkit for analyzing and visualizing challenge results", "Scientific Reports",
              "11", "2369", "10.1038/s41598-021-82017-6"),
    Reference("Wilcoxon 1945", "article", "Wilcoxon, Frank", "Individual comparisons by ranking methods",
              "Biometrics Bulletin", "1", "80--83", "10.2307/3001968"),
    Reference("Williams 1976", "article", "Williams, G. W.",
              "Comparing the joint agreement of several raters with another rater", BIOMETRICS, "32", "619--627",
              "10.2307/2529750"),
    Reference("Yang 2023", "article",
              "Yang, Feng and Zamzmi, Ghada and Angara, Sandeep and Rajaraman, Sivaramakrishnan and "
              r"Aquilina, Andr{\'e} and Xue, Zhiyun and Jaeger, Stefan and Papagiannakis, Emmanouil and "
              "Antani, Sameer K.",
              "Assessing inter-annotator agreement for medical image segmentation", "{IEEE} Access", "11",
              "21300--21312", "10.1109/ACCESS.2023.3249759"),
    Reference("Zeng 2021", "inproceedings",
              "Zeng, Dewen and Li, Mingqi and Ding, Yukun and Xu, Xiaowei and Xie, Qiu and Xu, Ruixue and Fei, Hongwen "
              "and Huang, Meiping and Zhuang, Jian and Shi, Yiyu",
              "Segmentation with multiple acceptable annotations: a case study of myocardial segmentation in contrast "
              "echocardiography", f"Information Processing in Medical Imaging, {LNCS}", "12729", "",
              "10.1007/978-3-030-78191-0_37"),
    Reference("Zhang 1992", "article", "Zhang, Jun",
              "The mean field theory in {EM} procedures for {Markov} random fields",
              "{IEEE} Transactions on Signal Processing", "40", "2570--2583", "10.1109/78.157297"),
)  # fmt: skip

REFERENCES = {one.cited: one for one in _REFERENCES}
"""References by how they are cited."""
