import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY } from '../cli/command-process.ts'

/*
 * The commands of a guide page, in their order. A code block is a session, with `$ ` before each command and
 * what it prints below; or, marked `sh`, a script. Above a block, a line of the page's source may say
 *
 *   <!-- not run: REASON -->      it cannot run here; the reason is printed
 *   <!-- varies: EXPRESSION -->   printed lines that match are not the same at each run
 *
 * A command under which the page shows `weir: CODE: ...` or `... (CODE)` must fail with that code.
 */

const BLOCK = /(?:<!-- (not run|varies): (.*?) -->\n\s*)?^( *)```([a-z]*)\n([\s\S]*?)^\3```$/gm
const STEP = /^\$ ((?:.*\\\n)*.*)\n([\s\S]*?)(?=^\$ |(?![\s\S]))/gm
/** What a page shows of a command that fails: a code, or why a candidate stays one. */
const FAILURE = /^weir: ([A-Z_]+): |\(([A-Z]+_[A-Z_]+)\)$|(was not promoted)/m
/** The first word of a command. */
const PROGRAM = /^(?:weir|npm|npx|node|curl|git|docker|apt-get) /m

/** A command of a page, with what the page shows of its output. */
export interface PageCommand {
  readonly command: string
  /** Several commands of a script, to be run as they are. */
  readonly isScript: boolean
  /** What the failure prints, if the page shows one. */
  readonly code?: string
  /** Lines of the output that do not vary. */
  readonly shown: readonly string[]
}

/** Why blocks of a page are not run. */
export function reasonsOf(page: string): readonly string[] {
  return [...page.matchAll(BLOCK)].flatMap(([, mark, text]) => (mark === 'not run' ? [text!] : []))
}

/** The source of a page of the guide. */
export function guidePage(name: string): string {
  return pageAt(join('docs/guide', name))
}

/** The source of a page at a path of the repository. */
export function pageAt(path: string): string {
  return readFileSync(join(REPOSITORY, path), 'utf8')
}

/** The commands of a page. Throws for a block of commands that is neither a session nor a script. */
export function commandsOf(page: string): readonly PageCommand[] {
  return [...page.matchAll(BLOCK)].flatMap(([, mark, text, indent, language, indented]) => {
    const body = indented!.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    if (mark === 'not run') {
      console.log(`not run: ${text}: ${body.trimEnd()}`)
      return []
    }
    if (/^\$ /m.test(body)) return stepsOf(body, mark === 'varies' ? text : undefined)
    if (language === 'sh') return [{ command: body.trimEnd(), isScript: true, shown: [] }]
    if (language === '' && PROGRAM.test(body)) throw new Error(`not a session: ${body}`)
    return []
  })
}

function stepsOf(body: string, varies: string | undefined): PageCommand[] {
  const isStable = (line: string): boolean =>
    line !== '' && line !== '...' && (varies === undefined || !new RegExp(varies).test(line))
  return [...body.matchAll(STEP)].map(([, command, printed]) => {
    const code = FAILURE.exec(printed!)
      ?.slice(1)
      .find((text) => text !== undefined)
    const shown = printed!.split('\n').filter(isStable)
    return { command: command!, isScript: false, shown, ...(code === undefined ? {} : { code }) }
  })
}
