"""Published figures (data/reference/), in the words labkit gives them."""

from __future__ import annotations

__all__ = ["CLAIMS"]

CLAIMS = {
    # targets that a source names no better
    "a {n:n}B model": "一个 {n}B 的模型",
    # the article
    "one stream of a 72B target goes from 28 to 76 tok/s": "72B 目标模型的单流速度从 28 提高到 76 词元/秒",
    "with 75 to 85 % of 5 drafts accepted a step yields 4.75 to 5.25 tokens, so it would take 1.75 to 1.94 times as "
    "long as a step of the target alone":
        "若 5 个草稿词元有 75 至 85 % 被接受，一步产出 4.75 至 5.25 个词元，那么一步的时间是目标模型单独一步的 "
        "1.75 至 1.94 倍",
    "the load is called high concurrency, the number of users is not given": "负载只说是高并发，没有给出用户数",
    "one stream without speculation": "不用推测解码的单流", "one stream with speculation": "使用推测解码的单流",
    "a report of a thousand characters without speculation": "一千字的报告，不用推测解码",
    "a report of a thousand characters with speculation": "一千字的报告，使用推测解码",
    "1000 / 28 = 35.7: the article counts a token for a character": "1000 / 28 = 35.7：该文把一个词元算作一个字",
    "labkit counts both": "labkit 两者都数",
    "1000 / 76 = 13.2: a token for a character again": "1000 / 76 = 13.2：同样把一个词元算作一个字",
    "75 to 85 % of the drafts are accepted at K = 5 on code and text-to-SQL":
        "K = 5 时，代码与 SQL 生成任务有 75 至 85 % 的草稿词元被接受",
    "the rate falls as K grows, so only the same K compares": "接受率随 K 增大而下降，所以只有相同的 K 才可比",
    "up to 3.0× at T = 0.1": "T = 0.1 时最高 3.0×", "an upper end, not a mean": "是上限，不是平均值",
    "about 1.4× at T = 1.0, creative writing": "T = 1.0、创意写作时约 1.4×",
    "4 of 5 drafts accepted: 4 tokens in 60 ms, 2.7× of 40 ms a token":
        "5 个草稿词元接受 4 个：60 毫秒得到 4 个词元，相当于每词元 40 毫秒的 2.7×",
    "the output distribution stays 100 % that of the target": "输出分布 100 % 与目标模型相同",
    "equal greedy text is the part of it that any run shows": "贪心文本相同只是任何一次运行都能显示的那一部分",
    "floating point alone may change some, so set the baseline beside itself":
        "仅浮点误差就可能改变一些文本，所以要让基线与自己对比",
    "an equal distribution at T > 0 needs an audit": "T > 0 时分布是否相同需要审计",
    # EAGLE-3
    "code, Vicuna-13B, greedy: up to 6.5×": "代码，Vicuna-13B，贪心：最高 6.5×",
    "the best case of all": "是所有情况中最好的",
    "drafts are a tree there and a chain in vLLM": "那里的草稿是树，vLLM 中是链",
    "SGLang, one H100: 158.34 to 373.25 tok/s": "SGLang，一块 H100：从 158.34 到 373.25 词元/秒",
    "{engine:s}, one {gpu}, batch of {n:n}, a chain of {k:n}: {x:n} the throughput":
        "{engine}，一块 {gpu}，批量 {n}，长度为 {k} 的链：吞吐量的 {x}",
    # Leviathan et al.
    "T5-XXL: 2× to 3× against the usual implementation": "T5-XXL：与通常的实现相比 2× 至 3×",
    "translation, greedy: 3.4× with 7 drafts": "翻译，贪心：7 个草稿词元，3.4×",
    "α = 0.75 there, the chance that a draft is accepted once all before it were: set it beside the conditional "
    "rates, not beside the acceptance rate":
        "那里 α = 0.75，即前面都被接受时一个草稿词元被接受的概率：应与条件接受率对比，而不是与接受率对比",
    "translation, T = 1: 2.6× with 7 drafts": "翻译，T = 1：7 个草稿词元，2.6×",
    "summaries, greedy: 3.1× with 5 drafts": "摘要，贪心：5 个草稿词元，3.1×",
    "summaries, T = 1: 2.3× with 5 drafts": "摘要，T = 1：5 个草稿词元，2.3×",
    "α = {x:n} there": "那里 α = {x}",
    # Spec-Bench
    "prompt lookup (PLD), mean over six tasks": "提示查找（PLD），六项任务的平均",
    "prompt lookup (PLD), tokens per decoding step": "提示查找（PLD），每个解码步的词元数",
    "a small draft model (SpS), mean over six tasks": "小草稿模型（SpS），六项任务的平均",
    "a small draft model (SpS), tokens per decoding step": "小草稿模型（SpS），每个解码步的词元数",
    "EAGLE, mean over six tasks": "EAGLE，六项任务的平均",
    "EAGLE, tokens per decoding step": "EAGLE，每个解码步的词元数",
    # SPEED-Bench
    "n-grams, greedy: slower than no speculation": "n-gram，贪心：比不用推测解码更慢",
    "n-grams, greedy: acceptance length": "n-gram，贪心：接受长度",
    "counted from the tokens of each chunk of a stream": "由流中每个数据块的词元数得出",
    "Llama 3.2 1B drafts, greedy": "以 Llama 3.2 1B 为草稿模型，贪心",
    "Llama 3.2 1B drafts, greedy: acceptance length": "以 Llama 3.2 1B 为草稿模型，贪心：接受长度",
    "Llama 3.2 1B drafts, T = 1": "以 Llama 3.2 1B 为草稿模型，T = 1",
    "EAGLE-3, greedy": "EAGLE-3，贪心", "EAGLE-3, greedy: acceptance length": "EAGLE-3，贪心：接受长度",
    "EAGLE-3, T = 1": "EAGLE-3，T = 1",
    "prompts of random tokens overstate throughput with speculation by 23 % on average (GPT-OSS 120B)":
        "随机词元的提示使推测解码的吞吐量平均高估 23 %（GPT-OSS 120B）",
    "labkit recommends nothing from random prompts, so it has no counterpart":
        "labkit 不会根据随机提示作推荐，所以没有对应的数值",
}  # fmt: skip
