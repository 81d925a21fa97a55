import { SERVICE } from '../../../src/gateway/grpc/schema.ts'
import { methodOf } from '../../gateway/grpc/frames.ts'
import { type Door, MODEL } from './door.ts'

/** A request for a run of the model, with an input `x`. */
export function inferMessage(input: object, raw?: Uint8Array): Buffer {
  return methodOf('ModelInfer').requestSerialize({
    model_name: MODEL,
    inputs: [{ name: 'x', datatype: 'FP32', ...input }],
    raw_input_contents: raw === undefined ? [] : [raw],
  })
}

/** The head of a call that runs the model. */
export function grpcFields({
  port,
  isTls,
  token,
}: Pick<Door, 'port' | 'isTls' | 'token'>): Record<string, string> {
  return {
    ':method': 'POST',
    ':scheme': isTls ? 'https' : 'http',
    ':authority': `127.0.0.1:${port}`,
    ':path': `/${SERVICE}/ModelInfer`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
}
