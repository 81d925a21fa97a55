import { asWeirError } from '../../core/errors.ts'
import { onlyPart } from '../../inference/port/only-part.ts'
import { RequestOwner } from '../../serving/port/request-owner.ts'
import {
  type InferenceAnswersContext,
  type InferenceTarget,
  noContexts,
  shorterOf,
} from '../inference/answers.ts'
import { type InferenceRequest, ModelRequests } from '../inference/message.ts'
import type { InferenceModel } from '../inference/model.ts'
import { type AnswerHead, answerHead, wantedOutputs } from '../inference/model-answers.ts'
import { versionNumber } from '../inference/repository.ts'
import type { Tensor } from '../inference/tensor.ts'
import { requireLive } from '../routes/require-live.ts'

/** One part of an answer. */
export interface AnswerPart {
  readonly head: AnswerHead
  readonly outputs: readonly Tensor[]
  readonly request: InferenceRequest
}

/** Answers requests in parts and counts them. A model that gives whole answers gives one part. */
export class PartsAnswers {
  private readonly context: InferenceAnswersContext
  /** Who asks for the answers under way. */
  private readonly askers = new Set<RequestOwner>()

  constructor(context: InferenceAnswersContext) {
    this.context = context
  }

  /** Ends the answers under way with UNAVAILABLE: they may be as long as they like, and the server closes. */
  end(): void {
    for (const asker of this.askers) asker.leave('the server ends; ask again')
  }

  /**
   * The parts of an answer, each made when it is asked for. A deadline is that of the last part. Rejects with what failed,
   * also in the middle; the statistics count the answer when it has ended.
   */
  async *parts(
    { model: name, version, options = {}, owner, client }: InferenceTarget,
    read: (requests: ModelRequests, model: InferenceModel) => InferenceRequest,
  ): AsyncGenerator<AnswerPart> {
    const { repository, statistics, clock } = this.context
    const startedMs = clock.monotonicMs()
    const ns = (): number => Math.round((clock.monotonicMs() - startedMs) * 1e6)
    const entry = await repository.find(name, version)
    const { info, model } = entry
    let answered = version ?? String(info.liveVersion)
    const asker = new RequestOwner({ client, ...(owner === undefined ? {} : { group: owner }) })
    const stay = owner?.gone === undefined ? owner?.onGone(() => asker.leave()) : asker.leave()
    this.askers.add(asker)
    let isWhole = false
    let items = 0
    try {
      if (version === undefined && info.liveVersion === 0) requireLive(entry)
      const request = read(new ModelRequests(model.inputs), model)
      const deadlineMs = shorterOf(options.deadlineMs, request.timeoutMs)
      const asked = {
        ...(version === undefined ? {} : { version: versionNumber(version) }),
        ...options,
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
      }
      const { sequence, context } = request
      if (context !== undefined && model.takesContexts !== true) throw noContexts(info.name)
      const by = { owner: asker, sequence, context }
      for await (const result of partsOf(model, name, { inputs: request.inputs, asked, by })) {
        const head = answerHead(info.name, result)
        answered = head.model_version
        items = Math.max(items, result.items)
        yield { head, outputs: wantedOutputs(result.outputs, request.outputs), request }
      }
      isWhole = true
    } catch (error) {
      throw asWeirError(error, 'ILLEGAL_STATE')
    } finally {
      stay?.()
      this.askers.delete(asker)
      if (isWhole) statistics.succeeded(info.name, answered, { items, ns: ns() }, clock.nowMs())
      else statistics.failed(info.name, answered, ns())
    }
  }

  /** The only part of an answer. Rejects as `parts` and `onlyPart`. */
  async only(
    target: InferenceTarget,
    read: (requests: ModelRequests, model: InferenceModel) => InferenceRequest,
  ): Promise<AnswerPart> {
    return await onlyPart(this.parts(target, read))
  }
}

async function* partsOf(
  model: InferenceModel,
  name: string,
  {
    inputs,
    asked,
    by,
  }: {
    readonly inputs: readonly Tensor[]
    readonly asked: Parameters<InferenceModel['infer']>[2]
    readonly by: NonNullable<Parameters<InferenceModel['infer']>[3]>
  },
) {
  if (model.parts === undefined) yield await model.infer(name, inputs, asked, by)
  else yield* model.parts(name, inputs, asked, by)
}
