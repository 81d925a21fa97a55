import type { onRequestHookHandler } from 'fastify'
import { WeirError } from '../../core/errors.ts'
import { MODEL_CONTROL_OFF } from '../../http/access/model-control.ts'
import type { GatewayServices } from '../port/services.ts'

/** A hook that throws ACCESS_DENIED, before the body is read, where clients may not change models. */
export function requireModelControl(
  modelControl: GatewayServices['modelControl'],
): onRequestHookHandler {
  return (_request, _reply, done) => {
    if (modelControl === undefined) throw new WeirError('ACCESS_DENIED', MODEL_CONTROL_OFF)
    done()
  }
}
