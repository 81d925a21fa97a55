import type { Clock } from '../../core/clock.ts'
import { asWeirError, WeirError } from '../../core/errors.ts'
import type { RequestOwner } from '../../serving/port/request-owner.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import { WayOut } from '../http/way-out.ts'
import { requireLive } from '../routes/require-live.ts'
import { type InferenceRequest, ModelRequests } from './message.ts'
import type { InferenceModel } from './model.ts'
import { type AnswerHead, answerHead, type EncodedAnswer, ModelAnswers } from './model-answers.ts'
import { type ModelRepository, versionNumber } from './repository.ts'
import type { InferenceStatistics } from './statistics.ts'
import type { Tensor } from './tensor.ts'

/** Deadline of a request whose time is over when it is read, ms: the model says so in its own words. */
const SOON_MS = 0.001

/** An inference request as HTTP carries it. */
export interface InferenceCall extends InferenceTarget {
  readonly body: Buffer
  /** Value of the header field that says how long the JSON in front of binary tensors is. */
  readonly jsonLength: string | undefined
}

/** Reads the request for a model, and writes its answer, in the form of one protocol. */
export interface InferenceForm<C extends InferenceTarget, T> {
  read(requests: ModelRequests, call: C): InferenceRequest
  write(
    answers: ModelAnswers,
    answer: {
      readonly head: AnswerHead
      readonly outputs: readonly Tensor[]
      readonly request: InferenceRequest
    },
  ): T | Promise<T>
}

const OVER_HTTP: InferenceForm<InferenceCall, EncodedAnswer> = {
  read: (requests, { body, jsonLength }) => requests.read(body, jsonLength),
  write: (answers, { head, outputs, request }) => answers.writeInTurns(head, outputs, request),
}

/** What an inference request asks, apart from its tensors. */
export interface InferenceTarget {
  /** Name, or a name and an alias, `ocr@stable`. */
  readonly model: string
  /** The version that is wanted; undefined for the live one. */
  readonly version: string | undefined
  /** How rows are read, as the header says; a model without rows has no consistency but live. */
  readonly options?: Pick<QueryOptions, 'consistency' | 'deadlineMs'>
  /** Gives up the request when the client is gone. @default it goes on */
  readonly owner?: RequestOwner | undefined
  /** Whose share of sequences and answers in parts it takes. @default it has none */
  readonly client?: string | undefined
}

/** What the answers are made from. */
export interface InferenceAnswersContext {
  readonly repository: ModelRepository
  readonly statistics: InferenceStatistics
  readonly clock: Clock
}

/** Answers inference requests and counts them, for both readers of connections. */
export class InferenceAnswers {
  private readonly context: InferenceAnswersContext
  private readonly codecs = new WeakMap<InferenceModel, ModelCodec>()
  private readonly wayOut = new WayOut()

  constructor(context: InferenceAnswersContext) {
    this.context = context
  }

  /** The answer to a request over HTTP; the body of the call is not read after it. Rejects with what failed. */
  answer(call: InferenceCall): Promise<EncodedAnswer> {
    return this.run(call, OVER_HTTP)
  }

  /** The answer to a request in any form. Rejects with what failed. */
  async run<C extends InferenceTarget, T>(call: C, form: InferenceForm<C, T>): Promise<T> {
    const { model: name, version, options = {}, owner, client } = call
    const { repository, statistics, clock } = this.context
    const startedMs = clock.monotonicMs()
    const ns = (): number => Math.round((clock.monotonicMs() - startedMs) * 1e6)
    const entry = repository.known(name, version) ?? (await repository.find(name, version))
    const { info, model } = entry
    try {
      // Whether its workers can answer now the model says itself: what is known here may be older.
      if (version === undefined && info.liveVersion === 0) requireLive(entry)
      const codec = this.codecOf(model)
      const request = form.read(codec.requests, call)
      const goalMs = shorterOf(options.deadlineMs, request.timeoutMs) ?? (model.sloMs || undefined)
      const askedMs = clock.monotonicMs()
      const deadlineMs =
        goalMs === undefined ? undefined : this.wayOut.leave(goalMs) - (askedMs - startedMs)
      const asked = {
        ...(version === undefined ? {} : { version: versionNumber(version) }),
        ...options,
        ...(deadlineMs === undefined ? {} : { deadlineMs: Math.max(deadlineMs, SOON_MS) }),
      }
      const { sequence, context } = request
      if (sequence !== undefined && model.takesSequences !== true) throw noSequences(info.name)
      if (context !== undefined && model.takesContexts !== true) throw noContexts(info.name)
      const by = { owner, context, sequence: sequence && { ...sequence, client } }
      const result = await model.infer(name, request.inputs, asked, by)
      const { outputs, items, served } = result
      const head = answerHead(info.name, result)
      const answered = head.model_version
      const written = form.write(codec.answers, { head, outputs, request })
      const answer = written instanceof Promise ? await written : written
      const endedMs = clock.monotonicMs()
      if (served?.isCached === false) {
        this.wayOut.observe(endedMs - askedMs - (served.queueNs + served.computeNs) / 1e6)
      }
      if (goalMs !== undefined && endedMs - startedMs > goalMs) throw late(info.name, goalMs)
      statistics.succeeded(info.name, answered, { items, ns: ns(), ...served }, clock.nowMs())
      return answer
    } catch (error) {
      statistics.failed(info.name, version ?? String(info.liveVersion), ns())
      throw asWeirError(error, 'ILLEGAL_STATE')
    }
  }

  private codecOf(model: InferenceModel): ModelCodec {
    const known = this.codecs.get(model)
    if (known !== undefined) return known
    const made = { requests: new ModelRequests(model.inputs), answers: new ModelAnswers() }
    this.codecs.set(model, made)
    return made
  }
}

function late(model: string, goalMs: number): WeirError {
  const message = `the answer of ${model} was there after ${goalMs} ms only, which is too late`
  return new WeirError('DEADLINE_EXCEEDED', message)
}

function noSequences(model: string): WeirError {
  const message = `model "${model}" has no sequences, so sequence_id would change nothing; leave it out`
  return new WeirError('INVALID_ARGUMENT', message)
}

/** The error of a request with a context for a model that is no pipeline. */
export function noContexts(model: string): WeirError {
  const message = `model "${model}" is no pipeline, so the parameter context would change nothing; leave it out`
  return new WeirError('INVALID_ARGUMENT', message)
}

/** What reads the requests for one model and writes its answers. */
interface ModelCodec {
  readonly requests: ModelRequests
  readonly answers: ModelAnswers
}

/** The deadline of a request that may have one in its header and one in its parameters, as other servers read it. */
export function shorterOf(
  header: number | undefined,
  parameter: number | undefined,
): number | undefined {
  if (header === undefined || parameter === undefined) return header ?? parameter
  return Math.min(header, parameter)
}
