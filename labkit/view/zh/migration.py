"""What was changed in a launch command, and why."""

from __future__ import annotations

__all__ = ["MIGRATION"]

_NOTES = {
    # how the text was read
    "several servers are started; speculative_config is that of the first that speculates":
        "启动了多个服务器；speculative_config 属于其中第一个使用推测解码的",
    "read as a Python call; the command is the server with the same settings":
        "按 Python 调用读取；给出的命令是设置相同的服务器",
    "read as a YAML config; the command is the server with the same settings":
        "按 YAML 配置读取；给出的命令是设置相同的服务器",
    "in Python: speculative_config={config} in place of the settings it holds":
        "在 Python 中：以 speculative_config={config} 取代其中的设置",
    "in the file: speculative-config: {config} in place of the settings it holds":
        "在文件中：以 speculative-config: {config} 取代其中的设置",
    "no program is named: the flags were read as those of vllm serve": "没有写明程序：标志按 vllm serve 的标志读取",
    "lines that begin with a flag were joined to the command: a backslash was missing":
        "以标志开头的行已并入命令：缺少反斜杠",
    "{dash:s} before a flag's name was read as '--'": "标志名前的 {dash} 已读作 '--'",
    "JSON stood without quotes, which the shell takes apart; it is quoted now":
        "JSON 没有加引号，shell 会把它拆开；现已加上引号",
    "of several engines in the source the first was read": "源码中有多个引擎，读取的是第一个",
    "of the arguments without a name only the first two were read; name the others":
        "没有名称的参数只读取了前两个；请写明其余参数的名称",
    "**{name} was not read: its keys are not in the source": "没有读取 **{name}：它的键不在源码中",
    "{name:s} left out: it is the default": "去掉了 {name}：它是默认值",
    "{name:s} left out: {value} is the default": "去掉了 {name}：{value} 是默认值",
    "{name} is no literal: the command takes it from the shell variable ${name}":
        "{name} 不是字面量：命令从 shell 变量 ${name} 取值",
    "{text} is no literal and stands as it is: put its value in": "{text} 不是字面量，照原样保留：请填入它的值",
    # the program and its flags
    "the image {image:s} holds an earlier vLLM than {version:s}, which this command is for; take a newer tag":
        "镜像 {image} 中的 vLLM 早于此命令所用的 {version}；请用更新的标签",
    "{python} -m {module:s} → vllm, its own command": "{python} -m {module} → vllm，即它自己的命令",
    "{python} -m {module:s} → vllm serve, the server's command; it runs in the environment of that Python":
        "{python} -m {module} → vllm serve，即服务器的命令；它在该 Python 的环境中运行",
    "{python} -m {module:s} → vllm serve: the demonstration server is gone, this one speaks OpenAI's protocol":
        "{python} -m {module} → vllm serve：演示服务器已不存在，这个使用 OpenAI 的协议",
    "{name:s} kept, but it has no effect: {why}": "{name} 已保留，但没有效果：{why}",
    "there is one engine now, and the variable is gone": "现在只有一种引擎，该变量已不存在",
    "the variable is gone; today's way is --attention-backend": "该变量已不存在；现在用 --attention-backend",
    "{flag:s} kept, but every user of the machine can read it in the list of processes and every reader of this text "
    "here: put it into the environment as {variable:s}":
        "{flag} 已保留，但机器上的每个用户都能在进程列表中读到它，读到此文的人也能：请把它放入环境变量 {variable}",
    "{flag:s} kept: vLLM {version:s} does not know it and ends with an error on flags it does not know":
        "{flag} 已保留：vLLM {version} 不认得它，遇到不认得的标志会报错退出",
    "{flag:s} {text} → {new}: the flag takes no value": "{flag} {text} → {new}：该标志不带值", "left out": "去掉",
    "{flag:s} {text} → {new}: it is JSON now": "{flag} {text} → {new}：现在写成 JSON",
    "{flag:s} kept, but vLLM {version:s} has no such flag: {why}": "{flag} 已保留，但 vLLM {version} 没有该标志：{why}",
    "{flag:s} dropped: {why}": "去掉了 {flag}：{why}", "{flag:s} → {new}: {why}": "{flag} → {new}：{why}",
    "the model is given twice, as {model} and by --model; leave one of them":
        "模型给出了两次，一次为 {model}，一次用 --model；请只留一个",
    "no model is named; vLLM {version:s} would serve a default one": "没有写明模型；vLLM {version} 会使用默认的模型",
    "--model is given more than once: the last one counts": "--model 给出了多次：以最后一个为准",
    "--model {model} → {model}: vllm serve takes the model first, without a flag":
        "--model {model} → {model}：vllm serve 的模型写在最前面，不用标志",
    # speculation
    "{flag:s} is {text}: what the shell puts there was not looked at": "{flag} 为 {text}：没有检查 shell 会填入的内容",
    "{flag:s} was no JSON, which is all that vLLM takes; it is now":
        "{flag} 不是 JSON，而 vLLM 只接受 JSON；现已改成 JSON",
    "--speculative-config is given more than once: the last one counts, the others are dropped":
        "--speculative-config 给出了多次：以最后一个为准，其余已去掉",
    "--speculative-config as JSON and with dots: vLLM would use the dotted keys alone; here is both":
        "--speculative-config 既有 JSON 又有带点的键：vLLM 只会用带点的键；这里两者都有",
    "{flag:s} dropped: --speculative-config says {value} for {key:s}, and vLLM takes one of both":
        "去掉了 {flag}：--speculative-config 中的 {key} 为 {value}，vLLM 只取其一",
    "{flag:s} dropped: --speculative-config says the same for {key:s}, and vLLM takes one of both":
        "去掉了 {flag}：--speculative-config 中的 {key} 与它相同，vLLM 只取其一",
    "{flag:s} {text} dropped: it says nothing": "去掉了 {flag} {text}：它没有内容", "it says nothing": "它没有内容",
    "{flag:s} dropped: --speculative-config already has {key:s}": "去掉了 {flag}：--speculative-config 已有 {key}",
    "{flag:s} → {key:s} in --speculative-config; by itself it is gone":
        "{flag} → --speculative-config 中的 {key}；单独的该标志已不存在",
    "speculation left out: num_speculative_tokens 0 is the baseline, and vLLM refuses it as a number":
        "去掉了推测解码：num_speculative_tokens 0 就是基线，而 vLLM 拒绝这个数",
    "\"prompt_lookup_min\":1 written out: that is what versions with this flag took where none was given; vLLM "
    "{version:s} would look for prompt_lookup_max tokens exactly":
        "写明了 \"prompt_lookup_min\":1：有该标志的版本在没有给出时取这个值；vLLM {version} 则只查找恰好 "
        "prompt_lookup_max 个词元",
    "no drafter is named: vLLM refuses num_speculative_tokens without a model or a method":
        "没有写明草稿模型：没有模型或方法时，vLLM 拒绝 num_speculative_tokens",
    "num_speculative_tokens is not given; vLLM takes it from the draft's config or ends, so name it":
        "没有给出 num_speculative_tokens；vLLM 从草稿模型的配置中取值，取不到就退出，所以请写明",
    "prompt_lookup_min is not given: vLLM {version:s} takes prompt_lookup_max for it, though its documentation says 1; "
    "name it":
        "没有给出 prompt_lookup_min：vLLM {version} 用 prompt_lookup_max 代替，尽管其文档说是 1；请写明",
    "vLLM guesses the method from the draft's folder or config; say it with \"method\"":
        "vLLM 从草稿模型的文件夹或配置猜测方法；请用 \"method\" 写明",
    "draft_tensor_parallel_size kept: the target's tensor-parallel size cannot be read here, and vLLM {version:s} "
    "refuses a draft model with another":
        "draft_tensor_parallel_size 已保留：这里读不出目标模型的张量并行数，而 vLLM {version} 拒绝并行数不同的草稿模型",
    "{key} in the speculative config → {today:s}, its name in vLLM {version:s}":
        "推测配置中的 {key} → {today}，即它在 vLLM {version} 中的名称",
    "{key} in the speculative config dropped: {today:s} is there and is its name now":
        "去掉了推测配置中的 {key}：已有它现在的名称 {today}",
    "{key} in the speculative config dropped: {why}": "去掉了推测配置中的 {key}：{why}",
    "unknown key {key} in the speculative config, on which vLLM {version:s} ends with an error":
        "推测配置中有未知的键 {key}，vLLM {version} 遇到它会报错退出",
    "unknown method {method}, on which vLLM {version:s} ends with an error":
        "未知的方法 {method}，vLLM {version} 遇到它会报错退出",
    "{said}; did you mean {close:s}?": "{said}；是不是 {close}？",
    "model {model:s} → \"method\":\"ngram\", which drafts without a model":
        "模型 {model} → \"method\":\"ngram\"，它起草时不用模型",
    "method '[ngram]' → \"ngram\", its name without the brackets": "方法 '[ngram]' → \"ngram\"，即去掉方括号的名称",
    "method {method:s} → \"mtp\", one name for every model's own heads; the old ones are deprecated":
        "方法 {method} → \"mtp\"，即各模型自带草稿头的统一名称；旧名称已弃用",
    "no drafter is named, so nothing was speculated": "没有写明草稿模型，因此原本就没有推测",
    "ngram drafts without a model of its own": "ngram 起草时没有自己的模型",
    "an ngram key conflicts with a model, which drafts by itself": "ngram 的键与模型冲突，模型自己就会起草",
    "vLLM {version:s} ends with an error unless a draft model runs on as many GPUs as the target "
    "(here {a:n} and {b:n}); left out, it does":
        "草稿模型所用 GPU 数与目标模型不同时，vLLM {version} 会报错退出（这里为 {a} 与 {b}）；去掉后两者相同",
    "vLLM {version:s} takes 1 or the target's {tp:n} alone; left out, it is the target's":
        "vLLM {version} 只接受 1 或目标模型的 {tp}；去掉后与目标模型相同",
    # models that are not here
    "{folder} is not here: it is taken for {model:s}, which it is named like":
        "{folder} 不在这里：按与它同名的 {model} 处理",
    "{model}: its files are not here; looked at were the fields of its public config that labkit carries":
        "{model}：其文件不在这里；检查的是 labkit 随附的其公开配置的字段",
}  # fmt: skip

_RETIRED = {
    "it was accepted but had no effect since the V1 engine, and is refused now; to draft less under load there is "
    "num_speculative_tokens_per_batch_size, to be measured first":
        "自 V1 引擎起它会被接受但没有效果，现在会被拒绝；要在高负载下少起草，可用 "
        "num_speculative_tokens_per_batch_size，但要先实测",
    "there is one way of scoring drafts now": "现在给草稿打分只有一种方式",
    "typical acceptance changed what the target says and went with the V0 engine; rejection sampling is exact":
        "典型接受会改变目标模型的文本，已随 V0 引擎一起去除；拒绝采样是精确的",
    "log probabilities are returned where a request asks for them": "请求要求时才返回对数概率",
    "acceptance is counted with the server's other statistics": "接受情况与服务器的其他统计一起计数",
    "the drafter follows the target": "草稿模型随目标模型而定",
    "the config has no token trees any more": "配置中已没有词元树",
    "the V1 scheduler has no multi-step mode; it overlaps scheduling with the model by itself":
        "V1 调度器没有多步模式；它自己会让调度与模型运行重叠",
    "the V1 engine recomputes preempted requests and swaps nothing": "V1 引擎会重算被抢占的请求，不做换出",
    "the pool of tokenizer workers is gone": "分词器工作进程池已不存在",
    "prompt adapters are gone from vLLM; what they did is lost": "vLLM 已没有提示适配器；其作用随之失去",
    "guided decoding became structured outputs": "引导解码已改为结构化输出",
    "there is only one block manager since the first is gone": "第一种块管理器已不存在，现在只有一种",
    "the scheduler takes them from the speculative config": "调度器从推测配置中取值",
    "the V1 scheduler has no such delay": "V1 调度器没有这种延迟",
    "the V1 engine always overlaps it with the model": "V1 引擎总是让它与模型运行重叠",
    "VLLM_ENABLE_V1_MULTIPROCESSING=0 puts server and engine into one process today":
        "现在用 VLLM_ENABLE_V1_MULTIPROCESSING=0 让服务器与引擎在同一进程",
    "the engine is a process of its own, without Ray": "引擎是独立的进程，不用 Ray",
    "the same by its present name": "作用相同，用现在的名称",
    "CUDA graphs are captured by batch size, not by length": "CUDA 图按批次大小捕获，不按长度",
    "the device is that of the installed build": "设备由所安装的版本决定",
    "requests are not logged unless --enable-log-requests asks for it":
        "除非要求 --enable-log-requests，否则不记录请求",
    "--reasoning-parser alone switches it on": "只要有 --reasoning-parser 就会启用",
    "vLLM has no biases of LoRA adapters any more": "vLLM 已没有 LoRA 适配器的偏置",
    "vLLM has no added tokens of LoRA adapters any more": "vLLM 已没有 LoRA 适配器的附加词元",
    "vLLM has no Long LoRA any more": "vLLM 已没有 LongLoRA",
    "vLLM has no adapter flag for QLoRA any more; see --lora-modules":
        "vLLM 已没有 QLoRA 的适配器标志；见 --lora-modules",
    "requests cannot name logits processors any more; the server can: --logits-processors":
        "请求已不能指定 logits 处理器；服务器可以：--logits-processors",
    "vLLM reads the scales of the KV cache from the checkpoint": "vLLM 从检查点读取 KV 缓存的缩放系数",
    "a size of 0 switches it off": "大小为 0 即关闭",
    "a named backend is used for every request": "指定的后端用于每个请求",
    "the runner says what a server is for, and convert how a model is adapted":
        "--runner 说明服务器的用途，--convert 说明模型如何适配",
    "it belongs into --hf-overrides, under the key the model's config has": "它应写入 --hf-overrides，用模型配置中的键",
}  # fmt: skip

MIGRATION = {**_NOTES, **_RETIRED}
