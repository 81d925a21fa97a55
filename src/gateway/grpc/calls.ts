import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Clock } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { SharedPlaces } from '../../core/lifetime/shared-places.ts'
import type { AuditSink } from '../../http/access/audit.ts'
import type { AccessControl } from '../../http/access/control.ts'
import { MODEL_CONTROL_OFF } from '../../http/access/model-control.ts'
import type { Role } from '../../http/access/role.ts'
import { endOf } from '../../http/audit.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import type { InferenceAnswers, InferenceTarget } from '../inference/answers.ts'
import { indexOf, metadataOf } from '../inference/descriptions.ts'
import { type ModelRepository, versionNumber } from '../inference/repository.ts'
import type { RequestMetrics, RouteMetrics } from '../metrics/request-metrics.ts'
import type { PartsAnswers } from '../parts/answers.ts'
import type { GatewayServices } from '../port/services.ts'
import { requireLiveModel } from '../routes/live-model.ts'
import { requireLive, requireReady } from '../routes/require-live.ts'
import { Call, type CallTerms } from './call.ts'
import { Caller } from './caller.ts'
import { type Codec, codecsOf } from './codec.ts'
import { type InferMessage, type InferReply, replyOf, requestOf } from './messages.ts'
import { SERVICE, STREAM, type UnaryMethod } from './schema.ts'
import { type CallEnd, callEndOf } from './status.ts'
import { InferStream } from './stream.ts'

/** What the calls work with. */
export interface GrpcContext extends Pick<CallTerms, 'budget' | 'clock'> {
  readonly services: GatewayServices
  readonly repository: ModelRepository
  readonly answers: InferenceAnswers
  readonly parts: PartsAnswers
  readonly requests: RequestMetrics
  /** @default every call may run */
  readonly access: AccessControl | undefined
  /** Takes an entry for each change that a client asks for. */
  readonly audit: AuditSink
  /** Version of the server in its metadata. */
  readonly version: string
  readonly clock: Clock
}

/** Calls that are under way, half of them of one client. */
const MOST_CALLS = 4096
/** Most bytes of a message that runs no model. */
const SMALL_BYTES = 64 * 1024
/** Extensions of the protocol that the port has. */
const EXTENSIONS = ['classification', 'model_repository', 'sequence']

type ModelMessage = { readonly name: string; readonly version: string }
type ChangeMessage = { readonly model_name: string }

/** What one method does, and what its callers need. */
interface Method {
  readonly role: Role | 'public'
  /** The model that a message names, on which the caller needs the role. @default the method is about no model */
  readonly modelOf?: (message: never) => string
  /** The word of the audit, of a method that changes something. */
  readonly change?: 'load' | 'unload'
  /** @default 64 KiB */
  readonly mostBytes?: number
  answer(message: never, call: Call): Promise<object>
}

/** A method with its codec and its metrics. */
interface OpenMethod extends Method {
  readonly name: string
  readonly metrics: RouteMetrics
  readonly codec: Codec
}

/** The calls of the Open Inference Protocol over gRPC. */
export class GrpcCalls {
  private readonly context: GrpcContext
  private readonly terms: CallTerms
  private readonly methods: ReadonlyMap<string, OpenMethod>
  private readonly places = new SharedPlaces(MOST_CALLS)

  constructor(context: GrpcContext, turns: CallTerms['turns']) {
    const { budget, clock } = context
    this.context = context
    this.terms = { budget, clock, turns }
    const codecs = codecsOf()
    const methods = { ...this.unaryMethods(), [STREAM]: this.inferMethod() }
    this.methods = new Map(
      Object.entries(methods).map(([name, method]) => [
        `/${SERVICE}/${name}`,
        {
          ...method,
          name,
          metrics: context.requests.added('POST', `/${SERVICE}/${name}`),
          codec: codecs(name),
        },
      ]),
    )
  }

  /** Answers one stream of HTTP/2, which is a call. */
  answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Call {
    const { access } = this.context
    const caller = new Caller(access, headers, stream.session?.socket.remoteAddress ?? '')
    const call = new Call({ stream, headers }, caller, this.terms)
    this.begin(stream, headers, call)
    return call
  }

  private begin(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, call: Call): void {
    const { clock } = this.context
    const isCall = headers[':method'] === 'POST' && isGrpc(headers['content-type'])
    if (!isCall) {
      call.reply.refuse()
      return
    }
    const method = this.methods.get(String(headers[':path']))
    if (method === undefined) {
      call.reply.end(callEndOf(unknownMethod()))
      return
    }
    const startedMs = clock.monotonicMs()
    const end = (how: CallEnd | undefined): void => {
      method.metrics.observe(how?.httpStatus ?? 200, clock.monotonicMs() - startedMs)
      call.reply.end(how)
    }
    this.run(stream, call, method).then(
      () => end(undefined),
      (thrown) => end(callEndOf(thrown)),
    )
  }

  private async run(stream: ServerHttp2Stream, call: Call, method: OpenMethod): Promise<void> {
    const { caller } = call
    const audited = method.change === undefined ? undefined : this.auditOf(caller, method.change)
    try {
      await enter(caller, method)
      const { shareHolder } = caller
      const full = this.places.take(shareHolder)
      if (full !== undefined) throw tooManyCalls(full, this.places)
      const leave = (): void => this.places.give(shareHolder)
      if (stream.destroyed) leave()
      else stream.once('close', leave)
      if (method.name === STREAM) await this.stream(call, method).ended
      else await this.unary(call, method, audited?.note)
      audited?.end(undefined)
    } catch (thrown) {
      audited?.end(callEndOf(thrown))
      throw thrown
    }
  }

  private async unary(
    call: Call,
    method: OpenMethod,
    note: (model: string) => void = () => {},
  ): Promise<void> {
    const { bytes, done } = await call.only(method.mostBytes ?? SMALL_BYTES)
    try {
      const answer = await call.inTurn(bytes.length, () => {
        const message = method.codec.decode(bytes)
        const model = method.modelOf?.(message)
        if (model !== undefined) note(model)
        if (model !== undefined) call.caller.requireOn(needed(method), model)
        return method.answer(message, call)
      })
      call.reply.send(method.codec.encode(answer))
    } finally {
      done()
    }
  }

  private auditOf(caller: Caller, did: string) {
    let on = ''
    return {
      note: (model: string): void => {
        on = `model=${model}`
      },
      end: (how: CallEnd | undefined): void => {
        const { principal, address: from } = caller
        this.context.audit({ ...endOf(how?.httpStatus ?? 200, principal), from, did, on })
      },
    }
  }

  private unaryMethods(): Readonly<Record<UnaryMethod, Method>> {
    const { services, repository, version } = this.context
    const find = ({ name, version }: ModelMessage) => repository.find(name, version || undefined)
    const modelOf = ({ name }: ModelMessage): string => name
    const change = (action: 'load' | 'unload'): Method => ({
      role: 'admin',
      change: action,
      modelOf: ({ model_name }: ChangeMessage) => model_name,
      answer: async ({ model_name }: ChangeMessage) => {
        if (services.modelControl === undefined) {
          throw new WeirError('ACCESS_DENIED', MODEL_CONTROL_OFF)
        }
        await repository.change(action, model_name)
        return {}
      },
    })
    return {
      ServerLive: { role: 'public', answer: async () => ({ live: true }) },
      ServerReady: {
        role: 'public',
        answer: async () => ({ ready: await isReady(() => requireLiveModel(services.state)) }),
      },
      ServerMetadata: {
        role: 'read',
        answer: async () => ({ name: 'weir', version, extensions: EXTENSIONS }),
      },
      ModelReady: {
        role: 'read',
        modelOf,
        answer: async (message: ModelMessage) => ({
          ready: await isReady(async () => {
            const entry = await repository.findNow(message.name, message.version || undefined)
            if (message.version === '') requireLive(entry)
            else requireReady(entry, versionNumber(message.version))
          }),
        }),
      },
      ModelMetadata: {
        role: 'read',
        modelOf,
        answer: async (message: ModelMessage) => metadataOf(await find(message)),
      },
      ModelInfer: this.inferMethod(),
      RepositoryIndex: {
        role: 'read',
        answer: async ({ ready }: { readonly ready: boolean }, { caller }) => {
          const readable = (await repository.all()).filter(({ info }) => caller.mayRead(info.name))
          return { models: indexOf(readable, ready) }
        },
      },
      RepositoryModelLoad: change('load'),
      RepositoryModelUnload: change('unload'),
    }
  }

  private inferMethod(): Method {
    return {
      role: 'read',
      modelOf: ({ model_name }: InferMessage) => model_name,
      mostBytes: MAX_FRAME_BYTES,
      answer: (message: InferMessage, call) => this.infer(message, call),
    }
  }

  private async infer(message: InferMessage, call: Call): Promise<InferReply> {
    return await this.context.answers.run(targetOf(message, call), {
      read: (requests) => requestOf(message, requests),
      write: (_, { head, outputs, request }) => replyOf(head, outputs, request),
    })
  }

  private stream(call: Call, { codec, metrics }: OpenMethod): InferStream {
    const { clock, parts, repository } = this.context
    const answered = (message: InferMessage) =>
      parts.parts(targetOf(message, call), (requests) => requestOf(message, requests))
    return new InferStream(call, {
      clock,
      decode: (bytes) => codec.decode(bytes),
      encode: (reply) => codec.encode(reply),
      answersInParts({ model_name, model_version }) {
        const version = model_version || undefined
        const known = repository.known(model_name, version)
        if (known !== undefined) return known.model.answersInParts === true
        return repository
          .find(model_name, version)
          .then(({ model }) => model.answersInParts === true)
      },
      infer: (message) => this.infer(message, call),
      async *parts(message) {
        for await (const { head, outputs, request } of answered(message)) {
          yield replyOf(head, outputs, request)
        }
      },
      ended: (status, startedMs) => metrics.observe(status, clock.monotonicMs() - startedMs),
    })
  }
}

/** What a request asks; the deadline of its call is that of the request. */
function targetOf(
  { model_name: model, model_version: version }: InferMessage,
  { deadlineMs, owner, caller }: Call,
): InferenceTarget {
  return {
    model,
    version: version === '' ? undefined : version,
    options: deadlineMs === undefined ? {} : { deadlineMs },
    client: caller.shareHolder,
    owner,
  }
}

const needed = ({ role }: Method): Role => (role === 'public' ? 'read' : role)

/** Lets a caller begin a call; which model it is about is not read yet. */
async function enter(caller: Caller, { role, modelOf }: Method): Promise<void> {
  if (role === 'public') return
  await caller.enter(role, modelOf === undefined ? undefined : { kind: 'model', name: undefined })
}

const isGrpc = (contentType: string | undefined): boolean =>
  /^application\/grpc(?:[+;]|$)/.test(contentType ?? '')

function unknownMethod(): WeirError {
  return new WeirError('UNSUPPORTED', `this port has the methods of ${SERVICE} only`)
}

function tooManyCalls(full: 'all' | 'share', { most, mostOfClient }: SharedPlaces): WeirError {
  const message =
    full === 'all'
      ? `${most} calls are under way, the most that this port takes; try again`
      : `${mostOfClient} of the calls under way are yours, the most of one client; wait for answers`
  return new WeirError('OVERLOADED', message)
}

/** Codes of models that are there and cannot answer. */
const NOT_READY = ['MODEL_NOT_LOADED', 'RESTORING', 'UNAVAILABLE'] as const

async function isReady(look: () => Promise<void>): Promise<boolean> {
  try {
    await look()
    return true
  } catch (error) {
    if (NOT_READY.some((code) => isWeirError(error, code))) return false
    throw error
  }
}
