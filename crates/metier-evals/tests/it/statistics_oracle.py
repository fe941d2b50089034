"""What scipy, statsmodels and deltagate say about many random inputs, as one JSON document.

`statistics_oracle.rs` runs it and compares our numbers with these. The seed is fixed.
"""

import json
import math
from fractions import Fraction

import deltagate
import numpy as np
import scipy.stats as st
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

draw = np.random.default_rng(20261118)


def normal():
    points = np.concatenate([draw.uniform(-12, 12, 300), [-37.0, -3.0, 0.0, 3.0, 1e-9]])
    return [[x, st.norm.cdf(x)] for x in points]


def normal_quantile():
    shares = np.concatenate([draw.uniform(0, 1, 300), 10.0 ** -draw.uniform(1, 300, 100), [0.5, 0.975, 0.025]])
    return [[p, st.norm.ppf(p)] for p in shares]


def student():
    rows = []
    for _ in range(300):
        freedom = int(draw.integers(1, 400))
        p = draw.uniform(0.0005, 0.9995)
        rows.append([p, freedom, st.t.ppf(p, freedom)])
    return rows


def binomial():
    rows = []
    for _ in range(400):
        n = int(10 ** draw.uniform(0, 4.5))
        p = draw.uniform(0, 1)
        k = int(np.clip(draw.normal(n * p, 3 * math.sqrt(n)), 0, n))
        rows.append([k, n, p, st.binom.cdf(k, n, p), st.binom.sf(k - 1, n, p)])
    return rows


def sign():
    rows = []
    for _ in range(300):
        better, worse = (int(10 ** draw.uniform(-0.3, 3.2)) for _ in range(2))
        if better + worse == 0:
            continue
        test = st.binomtest(better, better + worse, 0.5).pvalue
        table = mcnemar([[7, better], [worse, 5]], exact=True).pvalue
        gate = deltagate.mcnemar_test(better, worse, exact=True).p_value if better + worse < 900 else test
        rows.append([better, worse, test, table, gate])
    return rows


def wilson():
    rows = []
    for _ in range(300):
        n = int(10 ** draw.uniform(0, 4))
        k = int(draw.integers(0, n + 1))
        low, high = proportion_confint(k, n, alpha=0.05, method="wilson")
        rows.append([k, n, low, high])
    return rows


def worth(passed, trials):
    """How many independent trials these are worth, by the design effect of deltagate."""
    scores = np.concatenate([[1.0] * k + [0.0] * (n - k) for k, n in zip(passed, trials)])
    if not 0 < scores.mean() < 1:
        return float(len(trials))
    labels = np.repeat(np.arange(len(trials)), trials)
    effect = max(1.0, deltagate.diagnostics.variance_components(scores, labels)["design_effect"])
    return max(1.0, len(scores) / effect)


def wilson_of_cases(passed, trials):
    count = worth(passed, trials)
    return proportion_confint(sum(passed) / sum(trials) * count, count, alpha=0.05, method="wilson")


def lower_end(passed, trials):
    """The least of the lower ends of this and of all that is better: its best cases passed, one after the other,
    and single trials, one for each case that ever passed."""
    passed = [int(k) for k in passed]
    ever = sum(k > 0 for k in passed)
    if not ever:
        return 0.0
    ends = [proportion_confint(ever, ever, alpha=0.05, method="wilson")[0], wilson_of_cases(passed, trials)[0]]
    for case in sorted(range(len(passed)), key=lambda case: passed[case] / trials[case], reverse=True):
        if passed[case]:
            passed[case] = int(trials[case])
            ends.append(wilson_of_cases(passed, trials)[0])
    return min(ends)


def clustered():
    rows = []
    for _ in range(150):
        cases = int(draw.integers(2, 80))
        trials = draw.integers(1, 9, cases)
        chance = draw.beta(1.2, 0.8, cases)
        passed = draw.binomial(trials, chance)
        plain = wilson_of_cases(passed, trials)
        low, high = lower_end(passed, trials), 1 - lower_end(trials - passed, trials)
        rows.append([[[int(k), int(n)] for k, n in zip(passed, trials)], worth(passed, trials), low, high, *plain])
    return rows


def passes():
    rows = []
    for _ in range(300):
        n = int(draw.integers(1, 60))
        c = int(draw.integers(0, n + 1))
        k = int(draw.integers(1, n + 1))
        any_of = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
        all_of = Fraction(math.comb(c, k), math.comb(n, k))
        rows.append([c, n, k, float(any_of), float(all_of)])
    return rows


def classify():
    rows = []
    for _ in range(200):
        tp, fp, fn, tn = (int(x) for x in draw.integers(1, 300, 4))
        expected = np.concatenate([np.ones(tp), np.zeros(fp), np.ones(fn), np.zeros(tn)])
        happened = np.concatenate([np.ones(tp), np.ones(fp), np.zeros(fn), np.zeros(tn)])
        recall, specificity = happened[expected == 1].mean(), 1 - happened[expected == 0].mean()
        precision = expected[happened == 1].mean()
        rows.append([
            tp, fp, fn, tn, precision, recall, specificity,
            st.hmean([precision, recall]), (recall + specificity) / 2,
            st.pearsonr(expected, happened).statistic,
        ])
    return rows


def corrections():
    rows = []
    for _ in range(100):
        p = draw.uniform(0, 1, int(draw.integers(1, 40))) ** 3
        p = np.where(draw.uniform(0, 1, len(p)) < 0.2, p[0], p)  # ties
        holm = multipletests(p, method="holm")[1]
        bh = multipletests(p, method="fdr_bh")[1]
        assert np.allclose(holm, deltagate.holm_bonferroni(list(p)).adjusted, atol=1e-12)
        assert np.allclose(bh, deltagate.benjamini_hochberg(list(p)).adjusted, atol=1e-12)
        rows.append([list(p), list(holm), list(bh)])
    return rows


def paired():
    rows = []
    for _ in range(60):
        cases = int(draw.integers(12, 90))
        trials = int(draw.integers(1, 6))
        base = draw.beta(2, 1, cases)
        before = draw.binomial(trials, base) / trials
        after = draw.binomial(trials, np.clip(base + draw.uniform(-0.3, 0.3), 0, 1)) / trials
        difference = after - before
        if difference.std() < 1e-9:
            continue
        gate = deltagate.paired_delta(list(after), list(before))
        up, down = int((difference > 1e-12).sum()), int((difference < -1e-12).sum())
        p = st.binomtest(up, up + down, 0.5).pvalue
        reach = st.norm.ppf(0.975) + st.norm.ppf(0.8)
        spread = float(difference.std(ddof=1))
        rows.append({
            "pairs": [[float(a), float(b)] for a, b in zip(before, after)],
            "difference": gate["delta"],
            "error": gate["stderr"],
            "p_value": p,
            "detectable": reach * spread / math.sqrt(cases),
            "detectable_gate": deltagate.minimum_detectable_delta(cases, spread),
        })
    return rows


def bootstrap():
    rows = []
    for _ in range(12):
        cases = int(draw.integers(25, 120))
        weight = draw.integers(1, 6, cases).astype(float)
        value = draw.gamma(2.0, 3.0, cases) * weight
        row = {"parts": [[float(v), float(w)] for v, w in zip(value, weight)]}

        def ratio(v, w, axis=-1):
            return v.sum(axis=axis) / w.sum(axis=axis)

        for method in ["percentile", "BCa"]:
            result = st.bootstrap((value, weight), ratio, paired=True, vectorized=True, n_resamples=20000,
                                  confidence_level=0.95, method=method, rng=np.random.default_rng(7))
            row[method] = [result.confidence_interval.low, result.confidence_interval.high]
            row["error"] = result.standard_error
        rows.append(row)
    return rows


def power():
    def chance(n, win, alpha):
        k = np.arange(n + 1)
        p = np.minimum(1, 2 * st.binom.cdf(np.minimum(k, n - k), n, 0.5))
        return st.binom.pmf(k, n, win)[p <= alpha].sum()

    rows = []
    for win in [0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0]:
        for alpha in [0.05, 0.01, 0.05 / 12]:
            weak = [n for n in range(1, 700) if chance(n, win, alpha) < 0.8]
            rows.append([win, alpha, weak[-1] + 1, chance(40, win, alpha)])
    return rows


document = {f.__name__: f() for f in [
    normal, normal_quantile, student, binomial, sign, wilson, clustered, passes, classify, corrections, paired,
    bootstrap, power,
]}
print(json.dumps(document, allow_nan=False, default=float))
