import type { AlsRowKind } from '../../models/als/row-key.ts'
import { formatTextRow } from '../../models/als/text-row.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import { isFolderPlace, placeIn } from './output-file.ts'
import { writeTextLines } from './text-lines-file.ts'

/** Rows to write: those of a model, or numbers in their places. */
export type TextRows = Pick<AlsModel, 'users' | 'items' | 'row'>

/**
 * Writes a model as text rows (`formatTextRow`) to a path or an `hdfs://` URL: users first to a file, or both
 * matrices to a folder (`isFolderPlace`), `users.txt` and `items.txt`. A complete file appears under its name,
 * replacing an older one, when every row is stored.
 */
export async function writeTextRows(place: string, model: TextRows): Promise<void> {
  if (!isFolderPlace(place)) {
    await writeTextLines(place, textRows(model, ['U', 'I']))
    return
  }
  await writeTextLines(placeIn(place, 'users.txt'), textRows(model, ['U']))
  await writeTextLines(placeIn(place, 'items.txt'), textRows(model, ['I']))
}

function* textRows(model: TextRows, kinds: readonly AlsRowKind[]): Iterable<string> {
  for (const kind of kinds) {
    const ids = kind === 'U' ? model.users : model.items
    for (const [index, id] of ids.entries()) {
      yield formatTextRow({ id, kind, factors: model.row(kind, index) })
    }
  }
}
