import { randomBytes } from 'node:crypto'
import {
  type ConfigurationMap,
  type JobConfiguration,
  parseConfiguration,
} from './configuration.ts'

/** A fresh job id. */
export function newJobId(): string {
  return randomBytes(16).toString('hex')
}

/** What a map of keys, or nothing, stands for. Throws as `parseConfiguration`. */
export function resolveConfiguration(
  given: ConfigurationMap | JobConfiguration | undefined,
): JobConfiguration {
  if (given !== undefined && 'checkpoints' in given && typeof given.checkpoints === 'object') {
    return given as JobConfiguration
  }
  return parseConfiguration((given ?? {}) as ConfigurationMap)
}
