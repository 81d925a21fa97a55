import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { formatTextRow } from '../models/als-row.ts'
import type { AlsModel } from '../training/als-model.ts'

/** Writes a model as the ancestor's text rows, users first. */
export async function writeTextRows(path: string, model: AlsModel): Promise<void> {
  const file = createWriteStream(path)
  const sides = [
    { kind: 'U', ids: model.users },
    { kind: 'I', ids: model.items },
  ] as const
  for (const { kind, ids } of sides) {
    for (const [index, id] of ids.entries()) {
      const line = `${formatTextRow({ id, kind, factors: model.row(kind, index) })}\n`
      if (!file.write(line)) await once(file, 'drain')
    }
  }
  file.end()
  await once(file, 'close')
}
