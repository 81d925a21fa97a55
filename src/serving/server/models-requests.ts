import { mayActAs, type Role } from '../../access/role.ts'
import { WeirError } from '../../core/errors.ts'
import { beginAnswer } from '../../wire/answer.ts'
import { ANSWER, KIND } from '../../wire/frame.ts'
import { readInferRequest, writeInferAnswer } from '../../wire/inference/infer.ts'
import { decodeModelsRequest, encodeModels } from '../../wire/inference/models.ts'
import { copyTensors } from '../../wire/inference/tensor.ts'
import type { RequestCursor } from '../../wire/request.ts'
import type { ModelsBackend } from '../port/models-backend.ts'
import type { QueryBackend } from '../port/query-backend.ts'
import type { AnswerTarget } from './answers.ts'
import type { AsyncRequest } from './async-request.ts'

/**
 * Decodes an INFER or MODELS frame, after its preamble, for a client whose token has `role`. Throws
 * PROTOCOL_ERROR, INVALID_ARGUMENT, ACCESS_DENIED.
 */
export function modelsRequest(cursor: RequestCursor, role: Role): AsyncRequest {
  return cursor.kind === KIND.infer ? inferRequest(cursor) : listRequest(cursor, role)
}

function inferRequest(cursor: RequestCursor): AsyncRequest {
  const { state: model, version, deadlineMs: wanted } = cursor
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

function listRequest(cursor: RequestCursor, role: Role): AsyncRequest {
  const { action, model } = decodeModelsRequest(cursor.bytes, cursor.at, cursor.end)
  if (action !== 'list' && !mayActAs(role, 'admin')) {
    throw new WeirError('ACCESS_DENIED', `MODELS ${action} needs a token of the role admin`)
  }
  return {
    count: 1,
    async run({ backend }) {
      const models = modelsOf(backend)
      if (action !== 'list') await models.change(action, model)
      const list = encodeModels(models.list(model))
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
