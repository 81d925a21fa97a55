import { formatTextRow } from '../models/als-row.ts'
import type { AlsModel } from '../training/als-model.ts'
import { writeTextLines } from './text-lines-file.ts'

/**
 * Writes a model as the ancestor's text rows, users first, to a path or an `hdfs://` URL. The file
 * appears whole, in place of one of that name, when every row is stored.
 */
export function writeTextRows(place: string, model: AlsModel): Promise<void> {
  return writeTextLines(place, textRows(model))
}

function* textRows(model: AlsModel): Iterable<string> {
  const sides = [
    { kind: 'U', ids: model.users },
    { kind: 'I', ids: model.items },
  ] as const
  for (const { kind, ids } of sides) {
    for (const [index, id] of ids.entries()) {
      yield formatTextRow({ id, kind, factors: model.row(kind, index) })
    }
  }
}
