import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { requireArgument, WeirError } from '../../core/errors.ts'
import type { FileSystem } from '../../files/file-system.ts'
import type { ModelControlRights } from '../../http/access/model-control.ts'
import { requireModelName } from './name.ts'
import { type PushedVersion, pushModel } from './push.ts'
import { parseJson, remoteOf } from './scan.ts'

/** Endings of modules, whose code runs in the process that loads them. */
const MODULES: readonly string[] = ['ts', 'js', 'mjs']
/** Bytes of the largest file that names a model on another server. */
const MAX_REMOTE_BYTES = 16 * 1024

/** A model that a client sends. */
interface SentModel {
  readonly name: string
  readonly version?: number
  /** Ending of the model's file. */
  readonly format: string
  readonly bytes: Uint8Array
}

/** Folder of models that takes models as bytes: Rafiqi's registration. */
export class FolderRegistry {
  private readonly files: FileSystem
  private readonly root: string
  private readonly rights: ModelControlRights

  /** `rights`: what clients may register. */
  constructor(files: FileSystem, root: string, rights: ModelControlRights) {
    this.files = files
    this.root = root
    this.rights = rights
  }

  /**
   * Stores the bytes as a version of a model; `format` is the ending of its file. Rejects as `pushModel`, and with
   * ACCESS_DENIED for what clients may not register here.
   */
  async register(model: SentModel): Promise<PushedVersion> {
    const { name, version, format, bytes } = model
    requireModelName(name)
    requireAllowed(model, this.rights)
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

/** Throws INVALID_ARGUMENT for an unknown format, ACCESS_DENIED for what clients may not register. */
function requireAllowed({ name, format, bytes }: SentModel, rights: ModelControlRights): void {
  if (format === 'onnx') return
  if (format === 'json') requireAllowedRemote(bytes, name, rights)
  else {
    requireArgument(MODULES.includes(format), `"${format.slice(0, 20)}" is no format of a model`)
    if (rights.takesModules) return
    const message = `a module (.${format}) is code, and clients may not register code here; push it with "weir model push", or start the server with --allow-modules`
    throw new WeirError('ACCESS_DENIED', message)
  }
}

function requireAllowedRemote(
  bytes: Uint8Array,
  name: string,
  { hosts }: ModelControlRights,
): void {
  requireArgument(
    bytes.length <= MAX_REMOTE_BYTES,
    `the body has more than ${MAX_REMOTE_BYTES} bytes`,
  )
  const text = new TextDecoder().decode(bytes)
  const { url } = remoteOf(parseJson(text, 'the body'), 'the body', name)
  const { protocol, hostname, port, username, password } = new URL(url)
  requireArgument(
    /^https?:$/.test(protocol) && username === '' && password === '',
    'the url of a model on another server is http://HOST:PORT or https://HOST:PORT, without a user',
  )
  const at = Number(port || (protocol === 'https:' ? 443 : 80))
  if (hosts.has(hostname, at)) return
  const message = `${hostname.slice(0, 80)}:${at} is not a host of --allow-remote (${hosts}); name it when the server starts, or push the model with "weir model push"`
  throw new WeirError('ACCESS_DENIED', message)
}
