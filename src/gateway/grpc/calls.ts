import type { Metadata, ServerUnaryCall, sendUnaryData, UntypedHandleCall } from '@grpc/grpc-js'
import { bearerTokenOf } from '../../access/bearer.ts'
import type { AccessControl } from '../../access/control.ts'
import { MODEL_CONTROL_OFF } from '../../access/model-control.ts'
import type { Role } from '../../access/role.ts'
import type { Clock } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { RequestOwner } from '../../serving/port/request-owner.ts'
import type { InferenceAnswers, InferenceTarget } from '../inference/answers.ts'
import { indexOf, metadataOf } from '../inference/descriptions.ts'
import { type ModelRepository, versionNumber } from '../inference/repository.ts'
import type { RequestMetrics, RouteMetrics } from '../metrics/request-metrics.ts'
import type { PartsAnswers } from '../parts/answers.ts'
import type { GatewayServices } from '../port/services.ts'
import { requireLiveModel } from '../routes/live-model.ts'
import { requireLive, requireReady } from '../routes/require-live.ts'
import { type InferMessage, type InferReply, replyOf, requestOf } from './messages.ts'
import { SERVICE, type UnaryMethod } from './schema.ts'
import { Refused, refusedOf } from './status.ts'
import { type InferStream, InferStreamAnswers } from './stream.ts'

/** What the calls work with. */
export interface GrpcContext {
  readonly services: GatewayServices
  readonly repository: ModelRepository
  readonly answers: InferenceAnswers
  readonly parts: PartsAnswers
  readonly requests: RequestMetrics
  /** @default every call may run */
  readonly access: AccessControl | undefined
  /** Version of the server in its metadata. */
  readonly version: string
  readonly clock: Clock
}

/** Extensions of the protocol that the port has. */
const EXTENSIONS = ['classification', 'model_repository', 'sequence']

type Call = Pick<ServerUnaryCall<unknown, unknown>, 'metadata' | 'getDeadline'>
type ModelMessage = { readonly name: string; readonly version: string }
type ChangeMessage = { readonly model_name: string }

/** What one method does, and the role that its callers need. */
interface Method {
  readonly role: Role | 'public'
  answer(message: never, call: Call, owner: RequestOwner): Promise<object>
}

/** The calls of the Open Inference Protocol over gRPC. */
export class GrpcCalls {
  private readonly context: GrpcContext

  constructor(context: GrpcContext) {
    this.context = context
  }

  /** The handlers of the service, by method. */
  handlers(): Record<string, UntypedHandleCall> {
    const methods = Object.entries(this.methods()).map(([name, method]) => [
      name,
      this.unary(method, this.metricsOf(name)),
    ])
    const stream = this.metricsOf('ModelStreamInfer')
    return {
      ...Object.fromEntries(methods),
      ModelStreamInfer: (call: InferStream) => this.stream(call, stream),
    }
  }

  private metricsOf(method: string): RouteMetrics {
    return this.context.requests.added('POST', `/${SERVICE}/${method}`)
  }

  private methods(): Readonly<Record<UnaryMethod, Method>> {
    const { services, repository, version } = this.context
    const find = ({ name, version }: ModelMessage) => repository.find(name, version || undefined)
    const change = (action: 'load' | 'unload'): Method => ({
      role: 'admin',
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
        answer: async (message: ModelMessage) => metadataOf(await find(message)),
      },
      ModelInfer: {
        role: 'read',
        answer: (message: InferMessage, call, owner) => this.infer(message, call, owner),
      },
      RepositoryIndex: {
        role: 'read',
        answer: async ({ ready }: { readonly ready: boolean }) => ({
          models: indexOf(await repository.all(), ready),
        }),
      },
      RepositoryModelLoad: change('load'),
      RepositoryModelUnload: change('unload'),
    }
  }

  private unary(method: Method, metrics: RouteMetrics) {
    return (call: ServerUnaryCall<never, object>, done: sendUnaryData<object>): void => {
      const startedMs = this.context.clock.monotonicMs()
      const end = (status: number): void =>
        metrics.observe(status, this.context.clock.monotonicMs() - startedMs)
      const owner = new RequestOwner()
      call.on('cancelled', () => owner.leave())
      this.allow(call.metadata, method.role)
        .then(() => method.answer(call.request, call, owner))
        .then(
          (answer) => {
            end(200)
            done(null, answer)
          },
          (thrown) => {
            const { error, status } = refusedOf(thrown)
            end(status)
            done(error)
          },
        )
    }
  }

  private stream(call: InferStream, metrics: RouteMetrics): void {
    const { clock, repository, parts } = this.context
    const owner = new RequestOwner()
    const answered = (message: InferMessage) =>
      parts.parts(targetOf(message, call, owner), (requests) => requestOf(message, requests))
    new InferStreamAnswers(call, owner, {
      allowed: this.allow(call.metadata, 'read'),
      infer: (message) => this.infer(message, call, owner),
      async answersInParts({ model_name, model_version }) {
        const version = model_version || undefined
        const entry =
          repository.known(model_name, version) ?? (await repository.find(model_name, version))
        return entry.model.answersInParts === true
      },
      async *parts(message) {
        for await (const { head, outputs, request } of answered(message)) {
          yield replyOf(head, outputs, request)
        }
      },
      ended: (status, startedMs) => metrics.observe(status, clock.monotonicMs() - startedMs),
      nowMs: () => clock.monotonicMs(),
    })
  }

  private async infer(message: InferMessage, call: Call, owner: RequestOwner): Promise<InferReply> {
    const target = targetOf(message, call, owner)
    return await this.context.answers.run(target, {
      read: (requests) => requestOf(message, requests),
      write: (_, { head, outputs, request }) => replyOf(head, outputs, request),
    })
  }

  /** Rejects with what refuses the token of a call. */
  private async allow(metadata: Metadata, role: Role | 'public'): Promise<void> {
    const { access } = this.context
    if (role === 'public' || access === undefined) return
    const token = bearerTokenOf(metadata.get('authorization')[0]?.toString())
    const decision = access.authorize(token, role)
    if (decision.kind !== 'allowed') throw new Refused(decision.error, decision.status)
  }
}

/** What a request asks; the deadline of its call is that of the request. */
function targetOf(message: InferMessage, call: Call, owner: RequestOwner): InferenceTarget {
  const deadlineMs = timeLeft(call)
  return {
    model: message.model_name,
    version: message.model_version || undefined,
    options: deadlineMs === undefined ? {} : { deadlineMs },
    owner,
  }
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

/** Time until the deadline of a call, ms; undefined without one. */
function timeLeft(call: Call): number | undefined {
  const deadline = call.getDeadline()
  if (deadline === Number.POSITIVE_INFINITY) return undefined
  return Math.max(0.001, Number(deadline) - Date.now())
}
