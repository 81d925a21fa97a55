import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { replaceFileSync } from '../../files/durable-files.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { requireModelName } from './name.ts'
import { DEPLOYMENT_FILE, parseJson, textOf } from './scan.ts'
import { readSettingsText } from './settings.ts'

/** Name of the file with the revisions of a model's settings. */
export const REVISIONS_FILE = 'revisions.json'
/** Revisions that are kept. */
const KEPT = 100

/** One revision of a model's settings; it never changes. */
export interface SettingsRevision {
  /** Number from 1. */
  readonly revision: number
  /** When it was stored, Unix ms. */
  readonly storedMs: number
  readonly reason: string
  /** The settings, as `deployment.yaml` has them. */
  readonly text: string
}

/** The revisions of a model's settings. Numbers are 0 for none. */
export interface SettingsHistory {
  readonly live: number
  /** The revision that was live before. */
  readonly before: number
  /** In ascending order. */
  readonly revisions: readonly SettingsRevision[]
}

/** A change of a model's settings. */
export type SettingsChange =
  | { readonly kind: 'store'; readonly text: string; readonly reason: string }
  /** To the revision that was live before. */
  | { readonly kind: 'rollback' }
  | { readonly kind: 'return'; readonly revision: number }

const EMPTY: SettingsHistory = { live: 0, before: 0, revisions: [] }

/**
 * The history after a change. `present` is the text of `deployment.yaml`: where it was edited by hand since the
 * last change, it becomes a revision first, so that a rollback finds it. Throws UNKNOWN_VERSION. Pure.
 */
export function changedHistory(
  history: SettingsHistory,
  { present, change, nowMs }: { present: string; change: SettingsChange; nowMs: number },
): SettingsHistory {
  const reason = present === '' ? 'no settings' : 'edited by hand'
  const adopted = stored(history, { text: present, reason, storedMs: nowMs })
  if (change.kind === 'store') return stored(adopted, { ...change, storedMs: nowMs })
  const revision = change.kind === 'rollback' ? adopted.before : change.revision
  if (adopted.revisions.some((one) => one.revision === revision)) {
    return revision === adopted.live
      ? adopted
      : { ...adopted, live: revision, before: adopted.live }
  }
  const known = adopted.revisions.map((one) => one.revision).join(', ')
  const message =
    change.kind === 'rollback'
      ? 'no revision of the settings was live before this one'
      : `the settings have no revision ${revision}; the revisions are ${known}`
  throw new WeirError('UNKNOWN_VERSION', message)
}

/** The history with the text as its live revision. */
function stored(
  history: SettingsHistory,
  { text, reason, storedMs }: Omit<SettingsRevision, 'revision'>,
): SettingsHistory {
  const { live, revisions } = history
  if (liveText(history) === text) return history
  const revision = (revisions.at(-1)?.revision ?? 0) + 1
  const all = [...revisions, { revision, storedMs, reason, text }]
  return { live: revision, before: live, revisions: all.slice(-KEPT) }
}

/** Text of the live revision; undefined for none. */
export function liveText({ live, revisions }: SettingsHistory): string | undefined {
  return revisions.find(({ revision }) => revision === live)?.text
}

/**
 * Number of the revision that the present settings of a model are; settings that were edited by hand have the number
 * that they get at the next change. Throws as `readSettings`.
 */
export function presentRevision(
  files: FileSystem,
  place: { readonly root: string; readonly name: string },
): number {
  const { history, present } = readSettings(files, place)
  return stored(history, { text: present, reason: '', storedMs: 0 }).live
}

/** Revisions of a model, and its present settings, which may be newer. Throws UNKNOWN_MODEL, MALFORMED_DATA. */
export function readSettings(
  files: FileSystem,
  { root, name }: { readonly root: string; readonly name: string },
): { readonly history: SettingsHistory; readonly present: string } {
  requireModelName(name)
  const folder = join(root, name)
  if (files.statSync(folder)?.isFolder !== true) {
    throw new WeirError('UNKNOWN_MODEL', `the repository ${root} has no model "${name}"`)
  }
  const path = join(folder, REVISIONS_FILE)
  const settings = join(folder, DEPLOYMENT_FILE)
  return {
    history: files.statSync(path) === undefined ? EMPTY : historyOf(textOf(files, path), path),
    present: files.statSync(settings) === undefined ? '' : textOf(files, settings),
  }
}

function historyOf(text: string, path: string): SettingsHistory {
  const { live, before, revisions } = parseJson(text, path)
  if (Array.isArray(revisions) && typeof live === 'number' && typeof before === 'number') {
    return { live, before, revisions: revisions as SettingsRevision[] }
  }
  throw new WeirError('MALFORMED_DATA', `${path} holds no revisions; move it away to begin again`)
}

/**
 * Changes the settings of a model: stores the revision, then writes `deployment.yaml`, which a running process
 * follows. Throws UNKNOWN_MODEL, UNKNOWN_VERSION, INVALID_ARGUMENT and UNKNOWN_OPTION for wrong settings.
 */
export function changeSettings(
  files: FileSystem,
  place: { readonly root: string; readonly name: string },
  options: { readonly change: SettingsChange; readonly nowMs: number },
): SettingsHistory {
  const { history, present } = readSettings(files, place)
  const next = changedHistory(history, { present, ...options })
  const text = liveText(next) ?? ''
  const path = join(place.root, place.name, DEPLOYMENT_FILE)
  readSettingsText(text, path)
  const write = (file: string, content: string): void =>
    replaceFileSync(files, join(place.root, place.name, file), new TextEncoder().encode(content))
  // First the revisions: a process that ends between the two files leaves settings that count as edited by hand.
  write(REVISIONS_FILE, `${JSON.stringify(next, undefined, 2)}\n`)
  if (text !== '') write(DEPLOYMENT_FILE, text)
  else if (present !== '') files.removeSync(path)
  return next
}
