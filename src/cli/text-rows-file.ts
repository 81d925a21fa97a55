import { openLineFolder, splitPlace } from '../connectors/file/open-line-folder.ts'
import { formatTextRow } from '../models/als-row.ts'
import type { AlsModel } from '../training/als-model.ts'

/**
 * Writes a model as the ancestor's text rows, users first, to a path or an `hdfs://` URL. The file
 * appears whole, in place of one of that name, when every row is stored.
 */
export async function writeTextRows(place: string, model: AlsModel): Promise<void> {
  const { folder: folderPlace, name } = splitPlace(place)
  const folder = openLineFolder(folderPlace)
  try {
    await folder.make()
    const file = folder.begin(`.pending-${name}`)
    try {
      for (const line of textRows(model)) {
        file.write(line)
        if (!file.ready()) await file.whenReady()
      }
      await file.finish()
    } catch (error) {
      await file.abandon()
      throw error
    }
    await folder.rename(`.pending-${name}`, name)
  } finally {
    await folder.close()
  }
}

function* textRows(model: AlsModel): Iterable<string> {
  const sides = [
    { kind: 'U', ids: model.users },
    { kind: 'I', ids: model.items },
  ] as const
  for (const { kind, ids } of sides) {
    for (const [index, id] of ids.entries()) {
      yield `${formatTextRow({ id, kind, factors: model.row(kind, index) })}\n`
    }
  }
}
