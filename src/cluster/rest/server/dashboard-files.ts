import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { contentSecurityPolicy } from '../../../http/content-security-policy.ts'

/** Where the built dashboard is: in the package, and in a checkout. */
const FOLDERS = ['../../../dashboard/', '../../../../dashboard/dist/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
)

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** No style is in a page. */
const CONTENT_SECURITY_POLICY = contentSecurityPolicy(["style-src 'self'"])

/** Names of files below `assets/` contain a hash of their content. */
const FOREVER = 'public, max-age=31536000, immutable'

interface StaticFile {
  /** `/`, `/icon.svg`, `/assets/index-1a2b3c.js` */
  readonly url: string
  readonly type: string
  readonly bytes: Buffer
  readonly gzipped: Buffer
}

/**
 * Serves the dashboard at `/`. Its files hold no data, so they need no token: the page asks for the token
 * and sends it with its requests. In a checkout without a built dashboard, `/` says how to build it.
 */
export function dashboardFiles(app: FastifyInstance): void {
  files ??= builtFiles()
  if (files.length === 0) app.get('/', PUBLIC, async (_, reply) => reply.code(404).send(NOT_BUILT))
  for (const file of files) serveFile(app, file)
}

const PUBLIC = { config: { isPublic: true } }
const NOT_BUILT = {
  errors: ['NOT_FOUND: the dashboard is not built; run "npm run build:dashboard" in the checkout'],
}

function serveFile(app: FastifyInstance, { url, type, bytes, gzipped }: StaticFile): void {
  app.get(url, PUBLIC, async (request, reply) => {
    const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
    reply
      .type(type)
      .header('cache-control', url.startsWith('/assets/') ? FOREVER : 'no-cache')
      .header('content-security-policy', CONTENT_SECURITY_POLICY)
      .header('referrer-policy', 'no-referrer')
      .header('vary', 'accept-encoding')
    if (takesGzip) reply.header('content-encoding', 'gzip')
    return await reply.send(takesGzip ? gzipped : bytes)
  })
}

/** The files of the dashboard; read at the first use, about 100 kB. */
let files: readonly StaticFile[] | undefined

/** The files of the first folder that has some. */
function builtFiles(): readonly StaticFile[] {
  for (const folder of FOLDERS) {
    const found = namesIn(folder).map((name) => readStatic(folder, name))
    if (found.length > 0) return found
  }
  return []
}

function namesIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    return entries.filter((name) => Object.hasOwn(TYPES, extname(name)))
  } catch {
    return []
  }
}

function readStatic(folder: string, name: string): StaticFile {
  const bytes = readFileSync(join(folder, name))
  return {
    url: name === 'index.html' ? '/' : `/${name.replaceAll('\\', '/')}`,
    type: TYPES[extname(name)]!,
    bytes,
    gzipped: gzipSync(bytes),
  }
}
