import { systemClock } from '../../src/core/clock.ts'
import { ModelRegistry } from '../../src/models/versions/model-registry.ts'
import { registeredVersion } from '../models/registry/registered-version.ts'
import type { DamagedFolder } from './damage-folder.ts'

/** A model registry with three versions, the second of them live. */
export async function writeRegistry(path: string): Promise<DamagedFolder> {
  const registry = new ModelRegistry({ place: { logDirectory: path }, clock: systemClock })
  for (const number of [1, 2, 3]) await register(registry, number)
  for (const number of [1, 2]) {
    await registry.require({
      kind: 'promote',
      name: 'als-model',
      number,
      expectedLive: number - 1,
      atMs: number,
      force: 'a test',
    })
  }
  return {
    name: 'registry',
    path,
    read: () => readRegistry(registry),
    mayChange: (file) => /(status|\.index|\.lock)$/.test(file),
  }
}

async function register(registry: ModelRegistry, number: number): Promise<void> {
  await registry.require({ kind: 'register', version: registeredVersion(number) })
}

/** Reads the registry as a server does, then as a command that changes nothing does, and once more. */
async function readRegistry(registry: ModelRegistry): Promise<string> {
  const before = await registry.read()
  await register(registry, 1)
  const after = await registry.read()
  return JSON.stringify(
    [before, after].map(({ models, versions }) => [
      [...models],
      [...versions].map(([name, numbers]) => [name, [...numbers]]),
    ]),
  )
}
