"""The prose of the notebooks that offer a language, by paragraph."""

from __future__ import annotations

__all__ = ["PROSE"]

PROSE = {
    # 01_tuning_lab
    "Which drafter, which K?": "用哪个草稿模型，K 取多少？",
    "Move K, temperature, drafter or load: acceptance and speedup redraw at once, from what was measured, replayed or "
    "predicted. What is shown says which of the three it is.":
        "移动 K、温度、草稿模型或负载：接受率与加速比随即重画，数据来自实测、重放或预测。图中会标明是三者中的哪一种。",
    "What would be switched on here?": "这里会启用什么？",
    "The recommended one at the lowest temperature and load. A dot was measured, a solid line is replayed, a dashed "
    "line "
    "in its band predicted.":
        "最低温度与最低负载下推荐的设置。圆点为实测，实线为重放，带状区间内的虚线为预测。",
    "What if it were set otherwise?": "如果换一种设置呢？",
    "The arrow keys move a slider that has the focus. *Measure here* runs the setting and its baseline on an engine of "
    "this machine, or on two that run already.":
        "方向键可移动获得焦点的滑块。*在本机测量* 会在本机的引擎上，或在已经运行的两个引擎上，测量该设置及其基线。",
    "Trust an interval that lies on one side of 1×; measure a predicted setting before you switch it on.":
        "相信完全落在 1× 一侧的区间；预测的设置在启用之前请先测量。",
    "What does this rest on?": "这些结论的依据是什么？",
    # 02_sweep_report
    "Does speculation pay here, and where?": "推测解码在这里划算吗，在哪些情况下？",
    "This notebook measures a plan on a real engine, or shows a run that was measured before. It decides which "
    "drafter, "
    "at which K, is worth switching on for this target and these prompts, or that none is.":
        "本笔记本在真实引擎上测量一个计划，或展示以前测过的一次运行。它判断对这个目标模型和这些提示，"
        "值得启用哪个草稿模型、"
        "K 取多少，或者都不值得。",
    "What should be switched on?": "应当启用什么？",
    "Is the text still the target's? An audit samples with the drafter and lets the target without it score every "
    "token; valid answers are counted with and without it on the prompts above. A fault or a drop bars the drafter, "
    "whatever it gains.":
        "文本还是目标模型自己的吗？审计用草稿模型采样，再让不用草稿的目标模型给每个词元打分；有效回答则在上面的提示上、用与不用草稿各数一遍。"
        "有差错或有下降的草稿模型，无论多快都不予启用。",
    "Which drafter is faster, and at which K?": "哪个草稿模型更快，K 取多少？",
    "Speedup is the time per output token without speculation over the time with it, on the same prompts in the same "
    "session. A dot is what was measured, its bar the interval; in the shaded part speculation costs time.":
        "加速比是在同一会话、相同提示上，不用推测解码与使用推测解码时每个输出词元所用时间之比。圆点为实测值，"
        "竖线为区间；"
        "在阴影部分，推测解码反而更慢。",
    "Trust a dot whose whole bar lies on one side of 1×. Outputs that loop are left out of the headline and counted "
    "beside it.":
        "相信整条竖线都在 1× 一侧的圆点。循环的输出不计入主要数值，并在旁边单独计数。",
    "How far down the proposal is the draft accepted?": "草稿能被接受到第几个位置？",
    "The joint rate counts steps that accept at least so many drafts; the conditional rate asks only the steps that "
    "got "
    "that far. When the conditional rate holds, a larger K still earns; when it falls, the tail of the proposal is "
    "verified for nothing.":
        "联合接受率统计至少接受这么多草稿词元的步；条件接受率只看到达该位置的步。条件接受率保持不变时，更大的 K "
        "仍有收益；"
        "它下降时，草稿的尾部就白白验证了。",
    "The acceptance rate falls as K grows and ranks nothing; compare the acceptance length and the tokens per step.":
        "接受率随 K 增大而下降，不能用来排名；请比较接受长度和每步词元数。",
    "For which kind of prompt does it pay?": "对哪类提示划算？",
    "The same speedups, by category of prompt. Copy-heavy tasks suit a drafter that looks text up; free prose suits "
    "none "
    "of them as well.":
        "同样的加速比，按提示类别分列。大量照抄的任务适合查找文本的草稿方法；自由写作对哪一种都没有这么合适。",
    "A category with few prompts has wide bars, and below five prompts none: measure more of the kind that matters to "
    "you.":
        "提示少的类别区间很宽，少于五个提示则没有区间：请多测您关心的那一类。",
    "Where does the time go, step by step?": "时间逐步花在哪里？",
    "One block is one step of the target for one request; its number is how many tokens the step yields on average.":
        "一格是目标模型为一个请求所做的一步；其中的数字是该步平均产出的词元数。",
    "A drafter pays when its steps yield more tokens than they take longer.":
        "当每步多产出的词元超过多花的时间时，草稿模型才划算。",
    "In a report the controls below work without a kernel, and the address in the browser carries what they are set "
    "to. A solid line is replayed, a dashed line in its band predicted, a dotted one interpolated; measure a predicted "
    "setting before you switch it on.":
        "在报告中，下面的控件无需内核即可使用，浏览器地址带有当前的设置。实线为重放，带状区间内的虚线为预测，点线为插值；"
        "预测的设置在启用之前请先测量。",
    "What was measured, and what is wrong with it?": "测量了什么，又有什么问题？",
    # 07_train_drafter
    "How does a drafter learn, and when does it begin to pay?": "草稿模型是怎样学会的，何时开始划算？",
    "This notebook trains a small drafter on text that the target writes itself, and serves it when it is done. "
    "It decides whether training a drafter of your own is worth an afternoon; a few minutes here show the beginning of "
    "the curve.":
        "本笔记本用目标模型自己写的文本训练一个小的草稿模型，训练完成后即用它提供服务。它判断是否值得花一个下午训练"
        "自己的草稿模型；这里的几分钟只展示曲线的开头。",
    "Does the loss fall, and does acceptance on unseen prompts rise?": "损失是否下降，未见过的提示上的接受率是否上升？",
    "The target answers the training prompts; its hidden states and its next-token distribution are what the drafter "
    "imitates. Held-out prompts share no template with the training prompts. The curve is redrawn while it trains.":
        "目标模型回答训练提示；草稿模型模仿的是它的隐藏状态和下一词元分布。留出提示与训练提示没有共同的模板。"
        "曲线在训练过程中不断重画。",
    "When the loss still falls and the held-out agreement no longer rises, more text is what is missing, not more "
    "passes.":
        "如果损失仍在下降而留出提示上的一致率不再上升，缺的是更多文本，而不是更多遍数。",
    "What does the card say?": "卡片上写了什么？",
    "Offline agreement replays into the acceptance length that serving gives at T = 0 on the same text: it is exact, "
    "not an estimate.":
        "离线一致率经重放即得到在相同文本上以 T = 0 提供服务时的接受长度：这是精确值，不是估计。",
    "Does it make the target faster?": "它让目标模型更快了吗？",
    "The drafter is served by vLLM beside a baseline, on prompts that it has not seen. In the shaded part speculation "
    "costs time.":
        "草稿模型由 vLLM 提供服务，与基线并列，使用它没有见过的提示。在阴影部分，推测解码反而更慢。",
    "A drafter that was trained for minutes rarely pays; compare it with the ones that come with labkit "
    "(`labkit drafters cards`).":
        "只训练几分钟的草稿模型很少划算；请与 labkit 自带的草稿模型比较（`labkit drafters cards`）。",
    # 03_losslessness
    "Is it lossless?": "它是无损的吗？",
    "Speculation promises the very text that the target would write without it; this notebook checks the promise, "
    "drafter by drafter. It decides whether a drafter may be switched on at all, however fast it is.":
        "推测解码承诺给出目标模型自己会写的文本；本笔记本逐个草稿模型检验这一承诺。它判断一个草稿模型无论多快，是否可以启用。",
    "What do the audits say?": "审计说了什么？",
    "The target alone scores every token that was sampled with speculation: if nothing is lost, tokens fall where the "
    "target's own distribution puts them. An audit names a fault, or finds none, or says why it can tell nothing.":
        "由目标模型单独给推测解码采样的每个词元打分：如果没有损失，词元就落在目标模型自己的分布所给的位置。"
        "审计要么指出差错，要么没有发现，要么说明为何无法判断。",
    "A fault disqualifies a drafter whatever its speed; what was not audited is not known to be lossless.":
        "有差错的草稿模型无论多快都不予启用；未审计的不能认为是无损的。",
    "How far is the text from what it should be, and what could have hidden?":
        "文本偏离应有的样子多远，又可能漏掉什么？",
    "For each place in a step the temperature that fits its tokens best is held against the one that was asked for; "
    "one is right. The tick is the smallest deviation that would have been found: a few bonus tokens can hide more "
    "than many first drafts.":
        "对步中的每个位置，把最符合其词元的温度与要求的温度相比；比值为 1 即正确。短线是会被发现的最小偏差："
        "少量附加词元可能掩盖的偏差大于大量的第一个草稿词元。",
    "Trust a bar that covers one only as far as its tick is near.": "覆盖 1 的区间，只在短线离得近时才可相信。",
    "Does greedy text stay the same?": "贪心文本保持不变吗？",
    "Rounding may break a near tie otherwise when other requests share the batch, so even the target asked twice does "
    "not always give one text. Speculation may part from it no oftener than the target parts from itself.":
        "当其他请求同在一个批次时，舍入可能以另一种方式打破近似平局，因此目标模型被问两次也不总给出同一文本。"
        "推测解码与它分叉的次数不得多于目标模型与自己分叉的次数。",
    "A parting beyond a near tie is another choice, not rounding.": "不是近似平局的分叉是另一种选择，而不是舍入。",
    "Does the target pass its own audit?": "目标模型通过自己的审计吗？",
    "The target's own text is audited as a control. Where it fails, its server does something that the scores do not "
    "know, and no verdict is given.":
        "目标模型自己的文本作为对照也要审计。如果它不通过，说明其服务器做了打分所不知道的事，于是不下结论。",
    "A control that fails points at the server's defaults, not at speculation.":
        "对照不通过，问题在服务器的默认设置，而不在推测解码。",
    "What may be switched on, then?": "那么可以启用什么？",
    # 05_compare
    "Did anything change between two runs?": "两次运行之间有什么变化吗？",
    "This notebook sets two runs of the same cells side by side: two versions of vLLM, two drafters, or two days. It "
    "decides whether the newer one may be taken, or has to be looked into first.":
        "本笔记本把测量相同单元的两次运行并列：两个 vLLM 版本、两个草稿模型，或不同的两天。"
        "它判断较新的一次是否可以采用，还是要先查明原因。",
    "Is the newer run worse?": "较新的运行更差吗？",
    "A change counts only where chance would not bring it about in any cell of the comparison. Prompts are drawn again "
    "for both runs together, and how launches of one run scatter is held against what moved between the runs.":
        "只有偶然不会在比较的任何单元中造成的变化才算数。两次运行的提示一起重抽，并以同一次运行中各次启动的离散程度"
        "衡量两次运行之间的变化。",
    "Which cells became faster or slower?": "哪些单元变快或变慢了？",
    "A dot is what changed, its bar the interval; the shaded side is worse.":
        "圆点为变化，竖线为区间；阴影一侧为变差。",
    "When every cell moved with the baseline, the engine or the machine changed; when the speedups moved, the drafters "
    "did. A slow hour of the machine is in all cells of a block: time against other drafters is free of it and finds "
    "the smallest change of one drafter, or says that the others changed.":
        "所有单元都随基线移动时，变的是引擎或机器；加速比移动时，变的是草稿模型。机器变慢的时段影响同一轮的所有单元："
        "与其他草稿模型的时间之比不受其影响，能发现单个草稿模型最小的变化，或指出变的是其他草稿模型。",
    "Is the tail of the proposal still accepted?": "草稿的尾部还被接受吗？",
    "A draft that fits less well loses its last positions first, long before the speed shows it.":
        "不那么合适的草稿模型最先失去最后几个位置，远早于速度显示出来。",
    "The last kind of row counts greedy outputs that are not the baseline's: it may not grow.":
        "最后一类行统计与基线不同的贪心输出：它不得增加。",
    "How does the newer run stand beside what others claim?": "较新的运行与他人声称的相比如何？",
    "Published figures, and the own cell that comes closest to each: first what may be compared, with what differs, "
    "then what may not.":
        "公开发表的数值，以及与每个数值最接近的自测单元：先列可比的及其差别，再列不可比的。",
    "Ratios carry over to another machine with care, absolute speeds do not. A step that accepts four of five drafts "
    "yields five tokens, not four: the target adds one of its own.":
        "比值可以谨慎地用于另一台机器，绝对速度不行。接受五个草稿词元中的四个的一步产出五个词元，而不是四个："
        "目标模型自己再加一个。",
    "What was compared?": "比较了什么？",
    # 06_before_you_launch
    "Will this launch work, before a GPU is spent on it?": "在动用 GPU 之前：这样启动能行吗？",
    "A launch command or a known pair is judged from configs, tokenizers and rules alone; what a wrong tokenizer costs "
    "is then measured on the demo. It decides whether to start the engine as asked, and if not, what to change.":
        "仅凭配置、分词器与规则判断一条启动命令或一个已知的组合；然后在演示模型上测量错误的分词器代价多大。"
        "它判断是否按要求启动引擎；如果不，应当改什么。",
    "What does preflight say of it?": "启动前检查怎么说？",
    "Incompatible: vLLM refuses it, or what it drafts is worth nothing. A warning: it runs, but without effect, or "
    "nobody knows how well. Unknown is never fine.":
        "不兼容：vLLM 拒绝它，或它起草的内容毫无价值。警告：它能运行，但没有效果，或没有人知道效果如何。"
        "未知从不等于没有问题。",
    "A folder that is not on this machine is taken for the public model of its name, where the presets carry one; run "
    "`labkit preflight` on the real folders before you rely on it.":
        "不在本机的文件夹，如果预设中有同名的公开模型，就按该模型处理；在依赖结论之前，请对真实的文件夹运行 "
        "`labkit preflight`。",
    "How is it written today?": "今天应当怎样写？",
    "Every change has its reason. A flag that nobody knows is kept; a key of the speculative config that vLLM does not "
    "have is an error.":
        "每处改动都有理由。没有人认得的标志会保留；推测配置中 vLLM 没有的键是错误。",
    "What if it were asked otherwise?": "如果换一种要求呢？",
    "Pick a target and a draft among the presets, or change the command.":
        "从预设中选择目标模型与草稿模型，或修改命令。",
    "Which rules are there, and where do they come from?": "有哪些规则，出处在哪里？",
    "One row per rule and range of versions, each with its source; outside these ranges the state is unknown.":
        "每条规则的每个版本范围占一行，各有出处；在这些范围之外，状态未知。",
    "What does a tokenizer that does not fit cost?": "不相符的分词器代价多大？",
    "The same small draft twice: with the target's tokenizer, and with its token ids shuffled, in weights and "
    "tokenizer alike. Every shape fits and vLLM starts both, so only a comparison of tokens tells them apart.":
        "同一个小草稿模型用两次：一次用目标模型的分词器，一次在权重与分词器中一并打乱词元编号。"
        "所有形状都相符，vLLM 两个都会启动，所以只有比较词元才能区分它们。",
    "What preflight refuses costs the draft's time on every step and gives nothing back; the text stays that of the "
    "target.":
        "启动前检查所拒绝的，每一步都白花草稿模型的时间，毫无回报；文本仍是目标模型的。",
    "What was measured?": "测量了什么？",
}  # fmt: skip
