"""Why something is recommended, is doubtful or is not known."""

from __future__ import annotations

__all__ = ["REASONS"]

REASONS = {
    # recommended or not
    "{c} is left out: {reason}.": "{c} 未被考虑：{reason}。",
    "there is no error estimate of its prediction, so its interval is too narrow to compare; measure it":
        "其预测没有误差估计，区间过窄，无法比较；请实测",
    "its prompts or its acceptance are synthetic": "其提示或接受率是合成的",
    "other clients used the engine meanwhile": "期间有其他客户端使用引擎",
    "the engine restarted meanwhile": "期间引擎重启过",
    "the engine ran another method or K": "引擎运行的是另一种方法或 K",
    "preflight finds it incompatible": "启动前检查判定为不兼容",
    "an acceptance length of {a} of at most {b} is suspicious (do its prompts repeat?)":
        "接受长度 {a}（最多 {b}）可疑（提示是否重复？）",
    "its speedup has no interval: too few prompts count, and looping outputs do not; measure more prompts":
        "其加速比没有区间：计入的提示太少，循环的输出不计；请测量更多提示",
    "Nothing that was measured may be recommended.": "测过的都不能推荐。",
    "Nothing can be compared.": "没有可比较的。",
    "{c} has the best lower bound of the speedup: {x}.": "{c} 的加速比下限最高：{x}。",
    "{c} is the smallest K within 1 % of the best lower bound: {x}.": "{c} 是与最高下限相差不到 1 % 的最小 K：{x}。",
    "{c} has that bound: {x}.": "该下限属于 {c}：{x}。",
    "{x:n} ({low:n} to {high:n})": "{x}（{low} 至 {high}）",
    "Not proven: the interval covers 1, so it may gain nothing. Measure more prompts or blocks first.":
        "未证实：区间包含 1，可能没有增益。请先测量更多提示或更多轮。",
    "Every candidate is slower than no speculation; the best, {c}, has {x}.":
        "所有候选都比不用推测解码慢；最好的 {c} 为 {x}。",
    "No gain was shown: the best lower bound is that of {c}, {x}.": "没有显示出增益：下限最高的是 {c}，{x}。",
    "Not proven: an interval reaches 1 or more. Measure more prompts or blocks to be sure.":
        "未证实：有区间达到或超过 1。请测量更多提示或更多轮以确定。",
    "K = {k} is the largest K tried with {d}; a larger one may be faster still.":
        "K = {k} 是 {d} 试过的最大 K；更大的可能更快。",
    "K = {k} is the smallest K tried with {d}; a smaller one may do as well.":
        "K = {k} 是 {d} 试过的最小 K；更小的可能同样好。",
    "{c} was predicted, not measured: measure it before you switch it on.":
        "{c} 是预测的，不是实测的：启用之前请先测量。",
    "{c} was predicted, not measured.": "{c} 是预测的，不是实测的。",
    "The prediction is approximate: it cuts the steps of a larger K short.": "预测是近似的：由更大的 K 的步截短得出。",
    "It rests on {n:n} prompts.": "依据 {n} 个提示。",
    "It rests on {n:n} prompts and this launch only.": "依据 {n} 个提示，且仅限本次启动。",
    "Not proven: its interval holds the sampling error only, there is no error estimate of the fit.":
        "未证实：其区间只含抽样误差，没有拟合的误差估计。",
    "{c} carries flags: {names}.": "{c} 带有标记：{names}。",
    # not known
    "Acceptance by position of {where} is not known: no run at this K or above there.":
        "{where} 的逐位置接受率未知：那里没有这个 K 或更大 K 的运行。",
    "{arm} at T = {t}": "{arm}（T = {t}）",
    "Not known at T = {t}, concurrency {n}: measure {arm} there.": "T = {t}、并发 {n} 时未知：请在该处测量 {arm}。",
    "K = {k} of {d} lies outside the measured K ({span}); measure {cell}.":
        "{d} 的 K = {k} 超出了测过的 K（{span}）；请测量 {cell}。",
    "{arm}: T = {t} lies outside the measured temperatures ({known}); measure T = {u}.":
        "{arm}：T = {t} 超出了测过的温度（{known}）；请测量 T = {u}。",
    "{arm}: a figure is unknown at one of the measured temperatures.": "{arm}：在某个测过的温度上有未知的数值。",
    "{cell} at a running batch of {b}": "运行批量 {b} 时的 {cell}",
    "{x:n} only": "只有 {x}", "{low:n} to {high:n}": "{low} 至 {high}",
    "No prompt is of workload {c} in language {l}; choose another.": "任务类别 {c} 中没有语言为 {l} 的提示；请另选。",
    "The baseline was not measured at T = {t}, concurrency {n}, and every speedup starts from it; measure it.":
        "没有在 T = {t}、并发 {n} 处测量基线，而所有加速比都以它为准；请测量它。",
    "no error estimate: the interval holds the sampling error only; measure {cell}":
        "没有误差估计：区间只含抽样误差；请测量 {cell}",
    "the error estimate rests on a single cell": "误差估计只依据一个单元",
    # cautions and flags
    "above its {x:n} tokens per step": "高于其每步 {x} 个词元",
    "{a}, above its {x:n} tokens per step": "{a}，高于其每步 {x} 个词元",
    "{what} ({n:n} cells)": "{what}（{n} 个单元）",
    "a counter went backwards: the engine restarted between the snapshots": "计数器倒退：引擎在两次快照之间重启过",
    "the metrics page lacks a series": "指标页缺少某个序列", "the engine does not speculate": "引擎没有进行推测解码",
    "speculation is configured and nothing was generated": "已配置推测解码，但没有生成任何词元",
    "speculation is configured, tokens were generated, nothing was drafted": "已配置推测解码，生成了词元，但没有草稿",
    "the server generated more tokens than this client received": "服务器生成的词元多于本客户端收到的",
    "requests were running when a snapshot was taken": "拍快照时有请求在运行",
    "the prefix cache hit at another rate than in the cells compared with": "前缀缓存命中率与所比较的单元不同",
    "chunks came faster than this client reads them": "数据块来得比本客户端读取的快",
    "the anchor cell changed over the session": "锚定单元在会话中发生了变化",
    "acceptance is synthetic or prompts are random tokens": "接受率是合成的，或提示是随机词元",
    "some requests failed": "部分请求失败", "outputs loop": "输出出现循环",
    "conditional rates from counters are not exact here": "此处由计数器得出的条件接受率不精确",
    "other processes used the machine": "有其他进程占用机器",
    "one of several engines did nothing": "多个引擎中有一个没有工作",
    "counters contradict each other": "计数器相互矛盾",
    "two warm-up rounds in a row never agreed within 5 %": "没有连续两轮预热的结果相差在 5 % 以内",
    "the engine runs another method or K than was asked for": "引擎运行的方法或 K 与要求的不同",
    "preflight finds that this cannot work as meant; it was measured all the same":
        "启动前检查判定它不能如愿工作；仍然测量了",
    # what a flag of a cell says
    "{flag}: counters of engine {e} went backwards": "{flag}：引擎 {e} 的计数器倒退",
    "discard this cell": "请丢弃此单元", "{flag}: the metrics page has no {names}": "{flag}：指标页没有 {names}",
    "{flag}: speculation is on and no token was generated": "{flag}：已启用推测解码，但没有生成词元",
    "{flag}: {n} tokens were generated and none was drafted": "{flag}：生成了 {n} 个词元，没有一个有草稿",
    "{flag}: the server has no speculative counters: it does not speculate":
        "{flag}：服务器没有推测解码计数器：它没有进行推测解码",
    "{flag}: engine {e} of {n} did nothing": "{flag}：{n} 个引擎中的 {e} 没有工作",
    "{flag}: {a} running and {b} waiting requests at the snapshot": "{flag}：快照时有 {a} 个请求在运行、{b} 个在等待",
    "{flag}: the server generated {a} tokens, this client received {b}":
        "{flag}：服务器生成了 {a} 个词元，本客户端收到 {b} 个",
    "{flag}: {a} of {b} requests failed": "{flag}：{b} 个请求中有 {a} 个失败", "first: {words}": "第一个：{words}",
    "{flag}: {a} of {b} outputs repeat themselves": "{flag}：{b} 个输出中有 {a} 个自我重复",
    "headline figures leave them out": "主要数值不含它们",
    "{flag}: {a:n} of the prompt tokens came from the prefix cache, {b:n} in the baseline":
        "{flag}：提示词元中有 {a} 来自前缀缓存，基线为 {b}",
    "{flag}: {x:n} in {figure} ({values:n} ms by block)": "{flag}：{figure} {x}（各轮：{values} 毫秒）",
    "{flag}: {x:n} in {figure} ({values:n} by block)": "{flag}：{figure} {x}（各轮：{values}）",
    "{flag}: {n:n} steps drafted {a:n} tokens of {b:n}, and the server sends no steps":
        "{flag}：{n} 步只起草了 {b} 个词元中的 {a} 个，而服务器不发送每步的数据",
    "{flag}: {a} chunks/s": "{flag}：每秒 {a} 个数据块", "this client keeps up with {n}": "本客户端最多跟得上 {n} 个",
    "{flag}: {n} requests of others ran at the start": "{flag}：开始时有其他人的 {n} 个请求在运行",
    "{flag}: after {n} rounds two medians in a row still differed": "{flag}：{n} 轮之后，连续两个中位数仍不一致",
    "{flag}: others kept {a} of {b} cores busy": "{flag}：其他进程占用了 {b} 个核心中的 {a} 个",
    "{flag}: asked for {a}, the engine runs {b}": "{flag}：要求的是 {a}，引擎运行的是 {b}",
    "{flag}: prompts are random tokens": "{flag}：提示是随机词元", "{flag}: a count is negative": "{flag}：有计数为负",
    "{flag}: accepted per position sums to {a}, accepted tokens are {b}":
        "{flag}：各位置接受数之和为 {a}，接受的词元数为 {b}",
    "{flag}: accepted per position increases: {a}": "{flag}：各位置接受数递增：{a}",
    "{flag}: accepted {a} > drafted {b}": "{flag}：接受数 {a} > 草稿数 {b}",
    "{flag}: drafted {a} > K·steps = {b}": "{flag}：草稿数 {a} > K·步数 = {b}",
    "{first}; {rest}": "{first}；{rest}",
}  # fmt: skip
