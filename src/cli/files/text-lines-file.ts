import { openLineFolder, splitPlace } from '../../connectors/file/open-folder.ts'

/**
 * Writes lines (without line ends) to a path or an `hdfs://` URL. The complete file appears under its
 * name, replacing an older one, when every line is stored.
 */
export async function writeTextLines(place: string, lines: Iterable<string>): Promise<void> {
  const { folder: folderPlace, name } = splitPlace(place)
  const folder = openLineFolder(folderPlace)
  try {
    await folder.make()
    const file = folder.begin(`.pending-${name}`)
    try {
      for (const line of lines) {
        file.write(`${line}\n`)
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
