import { dirname } from 'node:path'
import type { FileSystem } from './file-system.ts'
import { FolderChanges } from './folder-changes.ts'

/**
 * Creates folders below a root so that a power cut does not take them back. A folder that exists is
 * forced, too, when this object sees it for the first time: the process that created it may have ended
 * before it forced it.
 */
export class DurableFolders {
  private readonly files: FileSystem
  private readonly root: string
  private readonly durable = new Set<string>()
  private readonly changes: FolderChanges
  private readonly making = new Map<string, Promise<void>>()

  /** `root`: the highest folder whose name is forced in its parent. */
  constructor(files: FileSystem, root: string, changes = new FolderChanges(files)) {
    this.files = files
    this.changes = changes
    this.root = root
  }

  /** Creates a folder with its missing parents. Callers at the same time share one attempt. */
  async make(folder: string): Promise<void> {
    const running = this.making.get(folder)
    if (running !== undefined) return await running
    const making = this.makeNow(folder).finally(() => this.making.delete(folder))
    this.making.set(folder, making)
    await making
  }

  private async makeNow(folder: string): Promise<void> {
    const firstMade = await this.files.makeFolder(folder)
    if (firstMade === undefined && this.durable.has(folder)) return
    if (firstMade !== undefined) this.forget(firstMade)
    const top =
      firstMade !== undefined && firstMade.length < this.root.length ? firstMade : this.root
    try {
      await this.force(folder, top)
    } catch (error) {
      if (firstMade !== undefined) await this.takeBack(folder, firstMade)
      throw error
    }
  }

  /** Forces the entries of `folder` and of its parents up to `top`. */
  private async force(folder: string, top: string): Promise<void> {
    const forced: string[] = []
    for (let at = folder; ; at = dirname(at)) {
      await this.changes.force(dirname(at), async () => {})
      forced.push(at)
      if (at === top || at === dirname(at) || this.durable.has(dirname(at))) break
    }
    for (const one of forced) this.durable.add(one)
  }

  /** A folder was removed and created again, with all it holds. */
  private forget(folder: string): void {
    for (const known of this.durable) {
      if (known === folder || known.startsWith(`${folder}/`)) this.durable.delete(known)
    }
  }

  /**
   * Removes the empty folders of a failed attempt. The system may count their entries as written
   * although they are lost, so that a later sync would succeed and force nothing.
   */
  private async takeBack(folder: string, firstMade: string): Promise<void> {
    for (let at = folder; ; at = dirname(at)) {
      try {
        await this.files.removeEmptyFolder(at)
      } catch {
        return
      }
      if (at === firstMade) return
    }
  }
}
