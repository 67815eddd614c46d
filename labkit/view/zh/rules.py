"""What the rules of a launch say (data/rules.yaml)."""

from __future__ import annotations

__all__ = ["RULES"]

_SAYS = {
    # vocabulary and tokenizer
    "Nothing is known here of {models}, so what depends on it was not looked at. Its config and tokenizer are enough: "
    "hf download {first} --include '*.json' '*.model' '*.txt'.":
        "此处对 {models} 一无所知，因此没有检查与其有关的内容。有它的配置与分词器就够了："
        "hf download {first} --include '*.json' '*.model' '*.txt'。",
    "{count:n} ids mean other tokens to the draft than to the target (ids {ids:n}; {examples}). What the draft "
    "proposes is accepted by accident only, or read wrongly; no version of vLLM compares tokens. Take a draft of the "
    "target's own family; with method draft_model, \"use_heterogeneous_vocab\": true maps the tokens both have.":
        "{count} 个编号对草稿模型与对目标模型是不同的词元（编号 {ids}；{examples}）。草稿模型提出的词元只会偶然被接受，"
        "或被误读；没有任何版本的 vLLM 会比较词元。请改用与目标模型同一系列的草稿模型；方法为 draft_model 时，"
        "\"use_heterogeneous_vocab\": true 会映射两者共有的词元。",
    "{count:n} special ids mean other tokens to the draft than to the target (ids {ids:n}; {examples}). What the draft "
    "proposes is accepted by accident only, or read wrongly; no version of vLLM compares tokens. Take a draft of the "
    "target's own family; with method draft_model, \"use_heterogeneous_vocab\": true maps the tokens both have.":
        "{count} 个特殊编号对草稿模型与对目标模型是不同的词元（编号 {ids}；{examples}）。"
        "草稿模型提出的词元只会偶然被接受，或被误读；没有任何版本的 vLLM 会比较词元。"
        "请改用与目标模型同一系列的草稿模型；方法为 draft_model 时，"
        "\"use_heterogeneous_vocab\": true 会映射两者共有的词元。",
    "Whether ids mean the same to both was not compared: the tokenizer files of both are not here.":
        "没有比较编号对两者的含义是否相同：两者的分词器文件不在这里。",
    "Whether ids mean the same to both was not compared: the target {model} has no tokenizer that labkit reads.":
        "没有比较编号对两者的含义是否相同：目标模型 {model} 没有 labkit 能读的分词器。",
    "Whether ids mean the same to both was not compared: the draft {model} has no tokenizer that labkit reads.":
        "没有比较编号对两者的含义是否相同：草稿模型 {model} 没有 labkit 能读的分词器。",
    "Every id means the same, but the draft's own tokenizer cuts only {rates} of the sample's tokens as the target's "
    "does (differing: {parts}). It runs; how much the draft, trained on other cuts, gets accepted is to be measured.":
        "每个编号的含义相同，但草稿模型自己的分词器对样本词元的切分只有 {rates} 与目标模型相同（不同的部分：{parts}）。"
        "它可以运行；草稿模型按另一种切分训练，能被接受多少需要实测。",
    "vocab_size {target:n} of the target and {draft:n} of the draft differ ({why}) and vLLM refuses that. Ways out: "
    "\"use_heterogeneous_vocab\": true in the speculative config, or a copy of the draft whose embedding and head rows "
    "are padded to {target}, or a draft with {target} rows.":
        "目标模型的 vocab_size {target} 与草稿模型的 {draft} 不同（{why}），vLLM 会拒绝。办法：在推测配置中设 "
        "\"use_heterogeneous_vocab\": true，或使用嵌入层与输出层的行数填充到 {target} 的草稿模型副本，"
        "或使用 {target} 行的草稿模型。",
    "Tokens are mapped by their text and the draft is kept to those both have ({differing:n} ids differ); lossless, on "
    "model runner V1, with greedy drafts.":
        "词元按文本映射，草稿模型只用两者共有的词元（{differing} 个编号不同）；无损，在模型运行器 V1 上，草稿为贪心。",
    "Tokens are mapped by their text and the draft is kept to those both have (an unknown number of ids differ); "
    "lossless, on model runner V1, with greedy drafts.":
        "词元按文本映射，草稿模型只用两者共有的词元（不同编号的数目未知）；无损，在模型运行器 V1 上，草稿为贪心。",
    "use_heterogeneous_vocab works with method draft_model and greedy drafts only; got method {method:s} and "
    "{sampled:s} drafts.":
        "use_heterogeneous_vocab 只能用于方法 draft_model 与贪心的草稿；得到的是方法 {method}，draft_sample_method 为 "
        "{sampled}。",
    "The head proposes {size:n} of the target's {target:s} tokens, mapped by d2t; how many of a text's tokens that "
    "covers is not known here.":
        "草稿头从目标模型的 {target} 个词元中提出 {size} 个，由 d2t 映射；它们覆盖文本词元的多少，此处未知。",
    "The head proposes {size:n} of the target's {target:s} tokens, mapped by d2t; of the sample's tokens it covers "
    "{en:s} (en), {zh:s} (zh).":
        "草稿头从目标模型的 {target} 个词元中提出 {size} 个，由 d2t 映射；它们覆盖样本词元的 {en}（en）、{zh}（zh）。",
    "The head's reduced vocabulary does not fit the target: {why}. It was made for another target; get the right head.":
        "草稿头的缩减词表与目标模型不符：{why}。它是为另一目标模型制作的；请取得正确的草稿头。",
    "The head was made for a vocabulary of {head:n} tokens, the target has {target:n}. Padding alone may be the "
    "reason; check that the head was trained for this very target.":
        "草稿头是为 {head} 个词元的词表制作的，目标模型有 {target} 个。可能只是填充所致；"
        "请确认它正是为这个目标模型训练的。",
    # method and draft
    "vLLM would run method {method:s}, not {asked:s}: it takes the method from the path {draft} or the draft's config. "
    "Rename the folder, or name the method that is meant.":
        "vLLM 会运行方法 {method}，而不是 {asked}：它从路径 {draft} 或草稿模型的配置得出方法。"
        "请给文件夹改名，或写明所要的方法。",
    "{draft:s} is a head ({architecture}), which needs the target's hidden states; as a draft model it proposes "
    "nonsense (acceptance length near 1). Name the method it was trained for, for example eagle3.":
        "{draft} 是草稿头（{architecture}），需要目标模型的隐藏状态；当作草稿模型时，它提出的词元毫无意义"
        "（接受长度接近 1）。请写明训练它所用的方法，例如 eagle3。",
    "vLLM has no {method:s} head of architecture {architecture:s}; it has those of data/rules.yaml, {method}_heads. A "
    "whole model is a draft_model.":
        "vLLM 没有架构为 {architecture} 的 {method} 草稿头；它有的列在 data/rules.yaml 的 {method}_heads 中。"
        "完整的模型属于 draft_model。",
    "{architecture:s} is not known to hand its inner hidden states to an EAGLE-3 head; vLLM says so only after loading "
    "(\"Model does not support EAGLE3 interface\").":
        "不知道 {architecture} 是否会把中间隐藏状态交给 EAGLE-3 草稿头；vLLM 在加载之后才会说明"
        "（\"Model does not support EAGLE3 interface\"）。",
    "The head reads hidden states of size {head:n}, the target has {target:n}. A head works only with the target it "
    "was trained for.":
        "草稿头读取的隐藏状态维度为 {head}，目标模型为 {target}。草稿头只能与训练它所用的目标模型一起工作。",
    "The checkpoint ({model}) has no MTP layers that vLLM knows. Use another method.":
        "检查点（{model}）没有 vLLM 认得的 MTP 层。请用其他方法。",
    "The checkpoint ({model}) has no MTP of this family that vLLM knows. Use another method.":
        "检查点（{model}）所属的系列没有 vLLM 认得的 MTP。请用其他方法。",
    "K = {k:n} is no multiple of the {layers:n} MTP layers of the checkpoint; take one.":
        "K = {k} 不是检查点 {layers} 个 MTP 层的倍数；请取其倍数。",
    "K = {k:n} is deeper than the {layers:n} MTP layers that were trained: the same layers run again and each further "
    "token is accepted less. How much less is to be measured; K = {layers} is safe.":
        "K = {k} 深于训练过的 {layers} 个 MTP 层：同样的层会再次运行，每多一个词元就接受得更少。"
        "少多少需要实测；K = {layers} 是安全的。",
    "vLLM has draft models.": "vLLM 支持草稿模型。",
    "vLLM 0.10 to 0.13 have no draft models (\"not supported yet\"). Upgrade, or use ngram or an EAGLE head.":
        "vLLM 0.10 至 0.13 不支持草稿模型（\"not supported yet\"）。请升级，或使用 ngram 或 EAGLE 草稿头。",
    "vLLM has MLP speculators.": "vLLM 支持 MLP 推测器。",
    "The configuration is accepted, but no model runner has MLP speculators: the worker ends with \"Unknown "
    "speculative decoding method\". Use another method.":
        "配置会被接受，但没有模型运行器支持 MLP 推测器：工作进程以 \"Unknown speculative decoding method\" 结束。"
        "请用其他方法。",
    "Suffix decoding needs arctic-inference==0.1.1 beside vLLM, which is built from source where it has no wheel; "
    "whether the server has it is not known here.":
        "除 vLLM 外，后缀解码还需要 arctic-inference==0.1.1，没有预编译包时要从源码构建；此处不知道服务器是否装有它。",
    "ngram needs prompt_lookup_max.": "ngram 需要 prompt_lookup_max。",
    "Without prompt_lookup_min and prompt_lookup_max, ngram looks for 5 tokens exactly; 2 to 4 find more.":
        "没有给出 prompt_lookup_min 与 prompt_lookup_max 时，ngram 只查找恰好 5 个词元；2 至 4 个能找到更多。",
    "ngram needs 1 ≤ prompt_lookup_min ≤ prompt_lookup_max; got {low:s} and {high:s}.":
        "ngram 需要 1 ≤ prompt_lookup_min ≤ prompt_lookup_max；得到的是 {low} 与 {high}。",
    # K
    "vLLM refuses num_speculative_tokens 0. The baseline has no speculative config; with a drafter K is 1 or more.":
        "vLLM 拒绝 num_speculative_tokens 0。基线没有推测配置；有草稿模型时 K 至少为 1。",
    "K is not given. vLLM takes the checkpoint's number of MTP layers, and some versions crash; give K.":
        "没有给出 K。vLLM 取检查点的 MTP 层数，有些版本会崩溃；请给出 K。",
    # parallelism
    "The draft's tensor parallel size can be 1 or the target's {tp:n}; got {draft_tp:n}. Leave it out to get the "
    "target's.":
        "草稿模型的张量并行数只能是 1 或目标模型的 {tp}；得到的是 {draft_tp}。不写它即与目标模型相同。",
    "The draft model runs on {draft_tp:n} of {tp:n} GPUs.": "草稿模型在 {tp} 块 GPU 中的 {draft_tp} 块上运行。",
    "A draft model needs the target's tensor parallel size: got draft {draft_tp:n}, target {tp:n}. Leave "
    "draft_tensor_parallel_size out.":
        "草稿模型需要与目标模型相同的张量并行数：草稿模型为 {draft_tp}，目标模型为 {tp}。"
        "请去掉 draft_tensor_parallel_size。",
    "Model runner V2 checks no draft tensor parallel size (got {draft_tp:n} for {tp:n}) and loads the draft in the "
    "target's group; what comes of it is not known. Leave draft_tensor_parallel_size out.":
        "模型运行器 V2 不检查草稿模型的张量并行数（得到 {draft_tp}，目标模型为 {tp}），"
        "并把草稿模型加载到目标模型的组中；结果如何未知。请去掉 draft_tensor_parallel_size。",
    "draft tensor parallel size 1 is accepted but has no effect: the {method:s} head runs on all {tp:n} GPUs.":
        "草稿模型的张量并行数 1 会被接受，但没有效果：{method} 草稿头在全部 {tp} 块 GPU 上运行。",
    "The target's {heads:n} attention heads cannot be divided over {tp:n} GPUs; take a tensor parallel size that "
    "divides them.":
        "目标模型的 {heads} 个注意力头无法在 {tp} 块 GPU 上均分；请取能整除它的张量并行数。",
    "The draft's {heads:n} attention heads cannot be divided over {tp:n} GPUs, on which the draft runs; take another "
    "draft or a tensor parallel size that divides both.":
        "草稿模型在 {tp} 块 GPU 上运行，而它的 {heads} 个注意力头无法在其上均分；请换一个草稿模型，"
        "或取能整除两者的张量并行数。",
    "vLLM cannot combine speculation with pipeline parallelism (got {pp:n} stages). Use tensor parallelism.":
        "vLLM 不能同时使用推测解码与流水线并行（得到 {pp} 个阶段）。请用张量并行。",
    "{pp:n} pipeline stages with {method:s}: nothing refuses it, the drafter runs on the last stage, and whether it "
    "works is not known (reports of crashes and wrong text). Use tensor parallelism, or audit the output.":
        "{pp} 个流水线阶段与 {method} 同用：不会被拒绝，草稿模型在最后一个阶段运行，能否正常工作未知"
        "（有崩溃与错误文本的报告）。请用张量并行，或审计输出。",
    "{architecture:s} hands its inner hidden states from stage to stage ({pp:n} stages).":
        "{architecture} 会逐阶段传递中间隐藏状态（{pp} 个阶段）。",
    "{pp:n} pipeline stages with {method:s} work on model runner V2; whether they do on V1 is not known. Set "
    "VLLM_USE_V2_MODEL_RUNNER=1.":
        "{pp} 个流水线阶段与 {method} 同用时，模型运行器 V2 可以工作；V1 是否可以未知。"
        "请设 VLLM_USE_V2_MODEL_RUNNER=1。",
    "{architecture:s} does not hand its inner hidden states from stage to stage, so {method:s} cannot run over {pp:n} "
    "stages. Use tensor parallelism.":
        "{architecture} 不会逐阶段传递中间隐藏状态，因此 {method} 无法跨 {pp} 个阶段运行。请用张量并行。",
    "num_speculative_tokens_per_batch_size is accepted but has no effect with {dp:n} data-parallel engines: K stays "
    "{k:s}.":
        "num_speculative_tokens_per_batch_size 会被接受，但在 {dp} 个数据并行引擎上没有效果：K 仍为 {k}。",
    "Whether a K schedule pays is not known until it was measured itself, at its thresholds ({thresholds}), one below "
    "and one above: one collapsed there. On model runner V1 it also gives up full CUDA graphs.":
        "K 调度表是否划算，要在其阈值（{thresholds}）处、低一个与高一个处实测之后才知道：曾有一个在那里急剧变慢。"
        "在模型运行器 V1 上，它还会放弃完整的 CUDA 图。",
    "num_speculative_tokens_per_batch_size: {why}; for example [[1, 4, 3], [5, 64, 1]].":
        "num_speculative_tokens_per_batch_size：{why}；例如 [[1, 4, 3], [5, 64, 1]]。",
    # runner, graphs, memory
    "Model runner V2 has {method:s} (ngram as its GPU version).":
        "模型运行器 V2 支持 {method}（ngram 为其 GPU 版本）。",
    "Model runner V2 does not have {lacks}, and is refused when forced; leave VLLM_USE_V2_MODEL_RUNNER out.":
        "模型运行器 V2 没有{lacks}，强制使用它时会被拒绝；请不要设 VLLM_USE_V2_MODEL_RUNNER。",
    "dspark runs on model runner V2 only, which needs Triton; set VLLM_USE_V2_MODEL_RUNNER=1.":
        "dspark 只在模型运行器 V2 上运行，它需要 Triton；请设 VLLM_USE_V2_MODEL_RUNNER=1。",
    "A decode step has K + 1 = {needed:n} tokens a request, the largest CUDA graph {size:n}: vLLM finds no valid size. "
    "Raise max_cudagraph_capture_size to {needed} or more.":
        "解码的一步每个请求有 K + 1 = {needed} 个词元，最大的 CUDA 图为 {size}：vLLM 找不到有效的大小。"
        "请把 max_cudagraph_capture_size 提高到 {needed} 或更大。",
    "No CUDA graph of {size:n} tokens holds one request's {needed:n}; decoding would run without graphs, slower.":
        "{size} 个词元的 CUDA 图容不下一个请求的 {needed} 个；解码将不用图运行，更慢。",
    "{seqs:n} requests × {each:n} tokens = {widest:n} a step, CUDA graphs are captured up to {size:n}: from {fits:n} "
    "running requests on steps run without graphs. How much that costs is to be measured; raise "
    "max_cudagraph_capture_size to {widest} or lower max_num_seqs.":
        "{seqs} 个请求 × {each} 个词元 = 每步 {widest} 个，CUDA 图捕获到 {size}：从 {fits} 个运行中的请求起，"
        "各步不用图运行。代价多大需要实测；请把 max_cudagraph_capture_size 提高到 {widest}，或降低 max_num_seqs。",
    "max_num_batched_tokens {tokens:n} leaves no slot beside the {slots:n} that drafting takes; raise it.":
        "max_num_batched_tokens {tokens} 除起草占用的 {slots} 个外没有余位；请提高它。",
    "The drafter does not use the target's LoRA adapter. It runs and stays lossless; how much of a base model's "
    "proposals an adapter accepts is to be measured per adapter.":
        "草稿模型不使用目标模型的 LoRA 适配器。它可以运行，并保持无损；适配器会接受多少基础模型的草稿，"
        "需要对每个适配器实测。",
    "With LoRA, max_num_batched_tokens must be at least max_num_seqs × (K + 1) = {seqs:n} × {each:n} = {needed:n}; got "
    "{tokens:n}.":
        "使用 LoRA 时，max_num_batched_tokens 至少为 max_num_seqs × (K + 1) = {seqs} × {each} = {needed}；"
        "得到的是 {tokens}。",
    "About {left:n} of {total:n} GiB are left beside {weights:n} GiB of weights: {fits:n} tokens of KV cache, one "
    "sequence needs {needed:n} (activations and graphs not counted).":
        "{total} GiB 中除 {weights} GiB 的权重外约剩 {left} GiB：可容 {fits} 个词元的 KV 缓存，一个序列需要 {needed} 个"
        "（未计激活与图）。",
    "{total:n} GiB less {weights:n} GiB of weights leave {fits:n} tokens of KV cache, one sequence of full length "
    "needs {needed:n}. Lower max_model_len, take more GPUs or a smaller draft.":
        "{total} GiB 减去 {weights} GiB 的权重，剩下 {fits} 个词元的 KV 缓存，一个全长序列需要 {needed} 个。"
        "请降低 max_model_len，或用更多 GPU 或更小的草稿模型。",
    "The memory left for the KV cache is not known: weights or their index are not there, or the attention is not a "
    "plain one.":
        "留给 KV 缓存的显存未知：权重或其索引不在，或注意力不是普通的一种。",
    "Sequences grow to {longest:n} tokens, the draft's window is {window:n}: beyond it the server crashes. Lower "
    "max_model_len to {window}.":
        "序列会增长到 {longest} 个词元，草稿模型的窗口为 {window}：超出后服务器会崩溃。"
        "请把 max_model_len 降到 {window}。",
    "Sequences grow to {longest:n} tokens, the draft's window is {window:n}: as soon as one request is longer, nothing "
    "is drafted for the whole batch. Lower max_model_len, or take a draft with a longer window.":
        "序列会增长到 {longest} 个词元，草稿模型的窗口为 {window}：只要有一个请求更长，整个批次就都不起草。"
        "请降低 max_model_len，或换窗口更长的草稿模型。",
    "Sequences grow to {longest:n} tokens, the draft was made for {window:n}: it drafts on beyond that, and what is "
    "then accepted is not known. Measure with prompts of that length.":
        "序列会增长到 {longest} 个词元，草稿模型是为 {window} 个制作的：超出后它仍继续起草，届时能接受多少未知。"
        "请用这样长的提示实测。",
    "max_model_len {asked:n} of the draft is beyond {limit:n}, the shorter of both models' windows; lower it.":
        "草稿模型的 max_model_len {asked} 超出了 {limit}，即两个模型窗口中较短的一个；请降低它。",
    # requests
    "Drafts are checked against the grammar with backend {backend:s}; a forced token is easy or impossible to draft.":
        "草稿用后端 {backend} 按语法检查；语法强制的词元要么容易起草，要么无法起草。",
    "lm-format-enforcer refuses requests on a speculating server; take xgrammar or guidance.":
        "lm-format-enforcer 在使用推测解码的服务器上拒绝请求；请用 xgrammar 或 guidance。",
    "Requests with {names} are answered with an error on a speculating server. Leave them out, also in the model's "
    "generation_config.json (--generation-config vllm ignores it).":
        "在使用推测解码的服务器上，带有 {names} 的请求会得到错误。请去掉它们，模型的 generation_config.json 中也要去掉"
        "（--generation-config vllm 会忽略该文件）。",
    "vLLM 0.12 drafts nothing for requests with penalties (here {found}); send neutral ones to compare.":
        "vLLM 0.12 不为带惩罚项的请求起草（此处为 {found}）；要比较，请发送中性的值。",
    "Penalties ({found}) are applied while verifying; the draft does not see them and less is accepted. Send neutral "
    "ones where drafters are compared.":
        "惩罚项（{found}）在验证时应用；草稿模型看不到它们，接受得更少。比较草稿模型时请发送中性的值。",
    "disable_padded_drafter_batch does not work with {method:s}; leave it out.":
        "disable_padded_drafter_batch 不能与 {method} 同用；请去掉它。",
    "Speculation is off from {value:s} queued requests on.": "从 {value} 个排队请求起不再推测。",
    "disable_by_batch_size {value:s} is accepted but has no effect.":
        "disable_by_batch_size {value} 会被接受，但没有效果。",
    "disable_by_batch_size was accepted but had no effect since 0.10 and is refused now. Use "
    "num_speculative_tokens_per_batch_size, and measure it.":
        "disable_by_batch_size 自 0.10 起会被接受但没有效果，现在会被拒绝。请用 "
        "num_speculative_tokens_per_batch_size，并实测它。",
    "tensor_parallel_size is no key of the speculative config; the draft's is draft_tensor_parallel_size.":
        "tensor_parallel_size 不是推测配置的键；草稿模型的键是 draft_tensor_parallel_size。",
    "vLLM's speculative config has no key {key:s}.": "vLLM 的推测配置没有键 {key}。",
    "vLLM's speculative config has no key {key:s}, {other:s}.": "vLLM 的推测配置没有键 {key}、{other}。",
    "vLLM's speculative config has no key {keys}; did you mean {close:s}?.":
        "vLLM 的推测配置没有键 {keys}；是不是 {close}？",
    # version and runner
    "The rules were read from vLLM {read:s}. Of {vllm:s} only what an issue, a pull request or the documentation tells "
    "is known; what it refuses beyond that is not.":
        "规则是从 vLLM {read} 读出的。关于 {vllm}，只知道议题、合并请求或文档所说的；它此外还拒绝什么未知。",
    "What vLLM {vllm:s} does about {about} is not known. Of {where}: {says}":
        "vLLM {vllm} 如何处理“{about}”未知。关于 {where}：{says}",
    "{first} On model runner {name:s}: {rest}": "{first}在模型运行器 {name} 上：{rest}",
    # what vLLM itself answers
    "The installed vLLM accepts this configuration.": "已安装的 vLLM 接受此配置。",
}  # fmt: skip

#: As a plan's engines have it: with the name of the rule in front.
_OF_A_RULE = {f"{{rule:s}}: {says}": f"{{rule}}：{said}" for says, said in _SAYS.items()}

RULES = {**_SAYS, **_OF_A_RULE}
