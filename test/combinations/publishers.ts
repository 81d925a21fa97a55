import type { Installation } from './installation.ts'
import type { Kind } from './kind.ts'
import {
  bayesianKind,
  explicitKind,
  generatedKind,
  hingeKind,
  implicitKind,
  loadedHingeKind,
  loadedLogisticKind,
  logisticKind,
  popularityKind,
  textKind,
} from './kinds.ts'
import type { Trial } from './table.ts'

const KINDS: Readonly<Record<Trial['kind'], () => Kind>> = {
  explicit: explicitKind,
  implicit: implicitKind,
  bayesian: bayesianKind,
  popularity: popularityKind,
  hinge: hingeKind,
  logistic: logisticKind,
  text: textKind,
  generated: generatedKind,
}

/** The kind of a trial. */
export function kindOf({ kind, publisher }: Pick<Trial, 'kind' | 'publisher'>): Kind {
  if (publisher === 'load' && kind === 'hinge') return loadedHingeKind()
  if (publisher === 'load' && kind === 'logistic') return loadedLogisticKind()
  return KINDS[kind]()
}

/** Makes the first version live that a trial serves; returns its number. Its observations are in their topic. */
export async function publishFirst(
  at: Installation,
  kind: Kind,
  publisher: Trial['publisher'],
): Promise<number> {
  if (publisher === 'import') {
    const origin = at.another('origin')
    origin.write('base', kind.base)
    await kind.publish(origin)
    return await importLive(kind, origin, at)
  }
  await kind.publish(at)
  if (publisher !== 'retrain') return 1
  const flags = ['--model', kind.model, '--observations', kind.observations]
  await at.run('retrain', '--once', '--no-serving', ...flags)
  await promote(at, kind, 2)
  return 2
}

/** Moves the live version to another machine and makes it live there; returns its number. */
export async function importLive(
  kind: Kind,
  from: Installation,
  to: Installation,
): Promise<number> {
  const model = ['--model', kind.model]
  await from.run('model', 'export', 'live', from.file('moved'), ...model)
  await to.run('model', 'import', from.file('moved'), ...model)
  await promote(to, kind, 1)
  return 1
}

/** Makes a version live, whatever its checks say. */
export async function promote(at: Installation, kind: Kind, version: number): Promise<void> {
  await at.run('model', 'promote', String(version), '--model', kind.model, '--force', 'a trial')
}
