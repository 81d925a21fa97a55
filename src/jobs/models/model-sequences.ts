import { createHash } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { InferAnswer, InferRequest } from '../../inference/port/request.ts'
import { dividedOutputs, startTensors } from '../../inference/sequences/carried.ts'
import { SequenceStates, type SequenceTerms } from '../../inference/sequences/sequence-states.ts'
import type { SequenceSettings } from '../../inference/sequences/settings.ts'
import type { StoredSequence } from '../../inference/sequences/stored-sequence.ts'
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
  private readonly models = new Map<ServedModel, ModelStates>()
  private readonly versions = new WeakMap<LoadedVersion, string>()
  /** By the name of models that have had no request of a sequence yet: they may be loaded later. */
  private readonly restored = new Map<string, StoredSequence[]>()
  private hasEnded = false
  /** Grows with the end of each request of a sequence. */
  changes = 0

  constructor(caches: ModelCaches, clock: Clock) {
    this.caches = caches
    this.clock = clock
  }

  /**
   * Answers a request, in its turn where it is one of a sequence. Rejects as `ModelCaches.infer` and
   * `SequenceStates.answer`, with INVALID_ARGUMENT where the request has a sequence and the model none, or the reverse, and
   * with UNAVAILABLE after `end`.
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

  /** Takes what the models carried in the process before. */
  restore(sequences: readonly StoredSequence[]): void {
    for (const sequence of sequences) {
      const known = this.restored.get(sequence.model)
      if (known === undefined) this.restored.set(sequence.model, [sequence])
      else known.push(sequence)
    }
  }

  /** What the models carry, for a checkpoint, as `SequenceStates.stored`; of what is still to be taken, what is not forgotten. */
  *stored(isLast: boolean): Generator<StoredSequence> {
    const nowMs = this.clock.nowMs()
    for (const sequences of this.restored.values()) {
      for (const sequence of sequences) {
        if (sequence.expiresAtMs <= nowMs) continue
        yield { ...sequence, isWhole: isLast && sequence.isWhole }
      }
    }
    for (const [{ name: model }, { states }] of this.models) {
      for (const sequence of states.stored(isLast)) yield { model, ...sequence }
    }
  }

  /** Takes no request of a sequence any more; resolves when those that it has taken have ended. */
  async end(): Promise<void> {
    this.hasEnded = true
    await Promise.all(Array.from(this.models.values(), ({ states }) => states.idle()))
  }

  /** A model is gone, and what it has carried with it. */
  forget(model: ServedModel): void {
    this.models.delete(model)
    this.restored.delete(model.name)
  }

  /** Counters of a model's cache, and the number of its sequences, where it has them. */
  statisticsOf(model: ServedModel): Readonly<Record<string, number>> {
    const numbers = this.caches.statisticsOf(model)
    const { sequence } = model.loaded.get(model.live)?.settings ?? {}
    if (sequence === undefined) return numbers
    const restored = this.restored.get(model.name)?.length ?? 0
    return { ...numbers, sequences: this.models.get(model)?.states.size ?? restored }
  }

  private async sequenced(
    model: ServedModel,
    loaded: LoadedVersion,
    {
      request,
      terms,
    }: { readonly request: InferRequest; readonly terms: SequenceTerms | undefined },
  ): Promise<InferAnswer> {
    const { settings, signature } = loaded
    const { sequence, deployment } = settings
    if (sequence === undefined) {
      const message = `model "${model.name}" has no sequences, so sequence_id would change nothing; leave it out, or set "sequence" in deployment.yaml`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    if (terms === undefined) {
      const message = `model "${model.name}" carries a state for each sequence; give the parameter sequence_id, and sequence_start with its first request`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    if (this.hasEnded) throw new WeirError('UNAVAILABLE', 'the server ends; ask again')
    // The run may come later, and the inputs are views of what came over the network.
    const inputs = copyTensors(request.inputs)
    const answered = this.statesOf(model, sequence).answer<InferAnswer>({
      terms,
      version: this.versionOf(loaded),
      deadlineMs: request.deadlineMs ?? deployment.sloMs,
      start: () => startTensors(signature, sequence.carried),
      run: async (carried, deadlineMs, sequenceStep) => {
        if (request.asker?.gone !== undefined) throw request.asker.gone
        const whole = { ...request, inputs: [...inputs, ...carried], deadlineMs }
        const answer = await this.caches.infer(model, loaded, whole)
        const { next, answered: outputs } = dividedOutputs(answer.outputs, sequence.carried)
        const flags = { ...answer.flags, sequenceStep }
        return { answer: { ...answer, outputs, flags }, next }
      },
    })
    return await answered.finally(() => this.changes++)
  }

  private statesOf(model: ServedModel, settings: SequenceSettings): SequenceStates {
    const known = this.models.get(model)
    const { ttlMs, most } = settings
    if (known?.settings.ttlMs === ttlMs && known.settings.most === most) return known.states
    const states = new SequenceStates(this.clock, settings)
    states.restore(this.restored.get(model.name) ?? [])
    this.restored.delete(model.name)
    this.models.set(model, { settings, states })
    return states
  }

  /**
   * What a state belongs to: a version by its files, and the settings and the tensors that it is served with. Another process
   * finds the same for the same.
   */
  private versionOf(loaded: LoadedVersion): string {
    const known = this.versions.get(loaded)
    if (known !== undefined) return known
    const { id, pinned, settings, signature } = loaded
    const files = pinned.map(({ sha256 }) => sha256).sort()
    const { inputs, outputs } = signature
    const facts = JSON.stringify([id.version, files, settings, inputs, outputs])
    const version = createHash('sha256').update(facts).digest('hex')
    this.versions.set(loaded, version)
    return version
  }
}
