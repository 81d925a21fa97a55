import { asWeirError, WeirError } from '../../core/errors.ts'
import type { AuditOutcome, AuditSink } from '../../http/access/audit.ts'
import { mayOn, requireOn } from '../../http/access/control.ts'
import { modelObject } from '../../http/access/object-rights.ts'
import type { Principal } from '../../http/access/token-verifier.ts'
import { beginAnswer } from '../../wire/answer.ts'
import { ANSWER, KIND } from '../../wire/frame.ts'
import { readInferRequest, writeInferAnswer } from '../../wire/inference/infer.ts'
import {
  decodeModelsRequest,
  encodeModels,
  type ModelInfo,
  type ModelsRequest,
} from '../../wire/inference/models.ts'
import { copyTensors } from '../../wire/inference/tensor.ts'
import type { RequestCursor } from '../../wire/request.ts'
import type { ModelsBackend } from '../port/models-backend.ts'
import type { QueryBackend } from '../port/query-backend.ts'
import type { AnswerTarget } from './answers.ts'
import type { AsyncRequest } from './async-request.ts'

/** Who asks. */
export interface ModelsClient {
  /** Holder of the token; undefined before the hello. */
  readonly principal: Principal | undefined
  /** Address that it comes from. */
  readonly from: string
  /** Takes an entry for each change. */
  readonly audit: AuditSink
}

/**
 * Decodes an INFER or MODELS frame, after its preamble, for a client. Throws PROTOCOL_ERROR, INVALID_ARGUMENT,
 * ACCESS_DENIED.
 */
export function modelsRequest(cursor: RequestCursor, client: ModelsClient): AsyncRequest {
  return cursor.kind === KIND.infer
    ? inferRequest(cursor, client.principal)
    : listRequest(cursor, client)
}

function inferRequest(cursor: RequestCursor, principal: Principal | undefined): AsyncRequest {
  const { state: model, version, deadlineMs: wanted } = cursor
  if (principal?.rights !== undefined) requireOn(principal, 'read', modelObject(model))
  let request = readInferRequest(cursor)
  cursor.finish()
  return {
    count: 1,
    async run({ backend, owner, deadlineMs }) {
      const terms = { version, deadlineMs: wanted === 0 ? undefined : deadlineMs, owner }
      const answered = await modelsOf(backend).infer(model, request, terms)
      return {
        count: 1,
        write(target) {
          begin(target, answered.version)
          writeInferAnswer(target.writer, answered.answer)
          target.writer.end(1)
        },
      }
    },
    leaveFrame() {
      request = { ...request, inputs: copyTensors(request.inputs) }
    },
  }
}

function listRequest(cursor: RequestCursor, client: ModelsClient): AsyncRequest {
  const request = decodeModelsRequest(cursor.bytes, cursor.at, cursor.end)
  const { action, model } = request
  requireRight(request, client)
  const isReadable = ({ name }: ModelInfo): boolean =>
    client.principal === undefined || mayOn(client.principal, 'read', modelObject(name))
  return {
    count: 1,
    async run({ backend }) {
      const models = modelsOf(backend)
      if (action !== 'list') {
        await audited(request, client, models.change(action, model))
      }
      const list = encodeModels(models.list(model).filter(isReadable))
      return {
        count: 1,
        write(target) {
          begin(target, 0)
          target.writer.raw(list)
          target.writer.end(1)
        },
      }
    },
  }
}

/** Throws ACCESS_DENIED. An empty name lists all models: those of them that the client may read. */
function requireRight(request: ModelsRequest, client: ModelsClient): void {
  const { action, model } = request
  if (client.principal === undefined || (action === 'list' && model === '')) return
  try {
    requireOn(client.principal, action === 'list' ? 'read' : 'admin', modelObject(model))
  } catch (error) {
    if (action !== 'list') note(request, client, 'refused', error)
    throw error
  }
}

/** Writes an audit entry when a change has ended. */
async function audited(
  request: ModelsRequest,
  client: ModelsClient,
  change: Promise<void>,
): Promise<void> {
  try {
    await change
  } catch (error) {
    note(request, client, 'failed', error)
    throw error
  }
  note(request, client, 'done')
}

function note(
  { action, model }: ModelsRequest,
  { principal, from, audit }: ModelsClient,
  outcome: AuditOutcome,
  error?: unknown,
): void {
  const { id = 'anonymous', name = '' } = principal ?? {}
  const status = error === undefined ? 'OK' : asWeirError(error, 'ILLEGAL_STATE').code
  audit({ who: id, name, from, did: action, on: `model=${model}`, outcome, status })
}

function begin(
  { writer, kind, requestId, routingEpoch }: AnswerTarget,
  modelVersion: number,
): void {
  const envelope = { modelVersion, routingEpoch, checkpointId: 0, ageMs: -1 }
  beginAnswer(writer, kind + ANSWER, 0, requestId, envelope)
}

function modelsOf({ models }: QueryBackend): ModelsBackend {
  if (models !== undefined) return models
  throw new WeirError(
    'UNSUPPORTED',
    'this job serves rows, not models of other kinds; ask a process of "weir run models"',
  )
}
