import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { InferAnswer, InferRequest } from '../../inference/port/request.ts'
import { dividedOutputs, startTensors } from '../../inference/sequences/carried.ts'
import { SequenceStates, type SequenceTerms } from '../../inference/sequences/sequence-states.ts'
import type { SequenceSettings } from '../../inference/sequences/settings.ts'
import { copyTensors } from '../../wire/inference/tensor.ts'
import type { ModelCaches } from './model-caches.ts'
import type { LoadedVersion, ServedModel } from './served-model.ts'

interface ModelStates {
  readonly settings: SequenceSettings
  readonly states: SequenceStates
}

/** What models carry from one request of a client to the next, where their settings have a sequence. */
export class ModelSequences {
  private readonly caches: ModelCaches
  private readonly clock: Clock
  private readonly models = new WeakMap<ServedModel, ModelStates>()

  constructor(caches: ModelCaches, clock: Clock) {
    this.caches = caches
    this.clock = clock
  }

  /**
   * Answers a request, in its turn where it is one of a sequence. Rejects as `ModelCaches.infer` and
   * `SequenceStates.answer`, and with INVALID_ARGUMENT where the request has a sequence and the model none, or the reverse.
   */
  infer(
    model: ServedModel,
    loaded: LoadedVersion,
    {
      request,
      terms,
    }: { readonly request: InferRequest; readonly terms: SequenceTerms | undefined },
  ): Promise<InferAnswer> {
    const { sequence } = loaded.settings
    if (sequence === undefined && terms === undefined) {
      return this.caches.infer(model, loaded, request)
    }
    return this.sequenced(model, loaded, { request, terms })
  }

  /** Counters of a model's cache, and the number of its sequences, where it has them. */
  statisticsOf(model: ServedModel): Readonly<Record<string, number>> {
    const known = this.models.get(model)
    const numbers = this.caches.statisticsOf(model)
    return known === undefined ? numbers : { ...numbers, sequences: known.states.size }
  }

  private async sequenced(
    model: ServedModel,
    loaded: LoadedVersion,
    {
      request,
      terms,
    }: { readonly request: InferRequest; readonly terms: SequenceTerms | undefined },
  ): Promise<InferAnswer> {
    const { settings, id, signature } = loaded
    const { sequence, deployment } = settings
    if (sequence === undefined) {
      const message = `model "${model.name}" has no sequences, so sequence_id would change nothing; leave it out, or set "sequence" in deployment.yaml`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    if (terms === undefined) {
      const message = `model "${model.name}" carries a state for each sequence; give the parameter sequence_id, and sequence_start with its first request`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    // The run may come later, and the inputs are views of what came over the network.
    const inputs = copyTensors(request.inputs)
    return await this.statesOf(model, sequence).answer<InferAnswer>({
      terms,
      version: `${id.name} ${id.version}`,
      deadlineMs: request.deadlineMs ?? deployment.sloMs,
      start: () => startTensors(signature, sequence.carried),
      run: async (carried, deadlineMs) => {
        if (request.asker?.gone !== undefined) throw request.asker.gone
        const whole = { ...request, inputs: [...inputs, ...carried], deadlineMs }
        const answer = await this.caches.infer(model, loaded, whole)
        const { next, answered } = dividedOutputs(answer.outputs, sequence.carried)
        return { answer: { ...answer, outputs: answered }, next }
      },
    })
  }

  private statesOf(model: ServedModel, settings: SequenceSettings): SequenceStates {
    const known = this.models.get(model)
    const { ttlMs, most } = settings
    if (known?.settings.ttlMs === ttlMs && known.settings.most === most) return known.states
    const states = new SequenceStates(this.clock, settings)
    this.models.set(model, { settings, states })
    return states
  }
}
