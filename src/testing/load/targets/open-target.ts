import type { LoadTarget } from '../port/target.ts'
import { HttpTarget, type HttpTargetSettings } from './http.ts'
import { WeirTarget, type WeirTargetSettings } from './weir.ts'

/** A target as plain data: it can be sent to another thread. */
export type TargetSettings = WeirTargetSettings | HttpTargetSettings

/** Opens a target. Rejects with the error of the connection. */
export async function openTarget(settings: TargetSettings): Promise<LoadTarget> {
  return settings.protocol === 'weir' ? await WeirTarget.open(settings) : new HttpTarget(settings)
}
