import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { requireArgument } from '../../core/errors.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { requireModelName } from './name.ts'
import { type PushedVersion, pushModel } from './push.ts'

/** Folder of models that takes models as bytes: Rafiqi's registration. */
export class FolderRegistry {
  private readonly files: FileSystem
  private readonly root: string

  constructor(files: FileSystem, root: string) {
    this.files = files
    this.root = root
  }

  /** Stores the bytes as a version of a model; `format` is the ending of its file. Rejects as `pushModel`. */
  async register(model: {
    readonly name: string
    readonly version?: number
    readonly format: string
    readonly bytes: Uint8Array
  }): Promise<PushedVersion> {
    const { name, version, format, bytes } = model
    requireModelName(name)
    requireArgument(/^[a-z]+$/.test(format), `"${format.slice(0, 20)}" is no format of a model`)
    const { files, root } = this
    await files.makeFolder(root)
    const upload = join(root, `.incoming-${randomUUID()}.${format}`)
    try {
      const file = await files.open(upload, 'new')
      await file.write([bytes], 0).finally(() => file.close())
      return await pushModel(files, {
        root,
        name,
        file: upload,
        ...(version === undefined ? {} : { version }),
      })
    } finally {
      await files.remove(upload)
    }
  }
}
