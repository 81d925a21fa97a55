import { mayOn, requireOn } from '../../access/control.ts'
import { modelObject } from '../../access/object-rights.ts'
import type { Principal } from '../../access/token-verifier.ts'
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
 * Decodes an INFER or MODELS frame, after its preamble, for the holder of a token. Throws PROTOCOL_ERROR,
 * INVALID_ARGUMENT, ACCESS_DENIED.
 */
export function modelsRequest(
  cursor: RequestCursor,
  principal: Principal | undefined,
): AsyncRequest {
  return cursor.kind === KIND.infer
    ? inferRequest(cursor, principal)
    : listRequest(cursor, principal)
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

function listRequest(cursor: RequestCursor, principal: Principal | undefined): AsyncRequest {
  const { action, model } = decodeModelsRequest(cursor.bytes, cursor.at, cursor.end)
  const needed = action === 'list' ? 'read' : 'admin'
  // An empty name lists all models: those of them that the client may read.
  if (principal !== undefined && (action !== 'list' || model !== '')) {
    requireOn(principal, needed, modelObject(model))
  }
  const isReadable = ({ name }: { readonly name: string }): boolean =>
    principal === undefined || mayOn(principal, 'read', modelObject(name))
  return {
    count: 1,
    async run({ backend }) {
      const models = modelsOf(backend)
      if (action !== 'list') await models.change(action, model)
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
