import { join, resolve } from 'node:path'
import { ModifierFlags } from 'typescript/unstable/ast'
import {
  API,
  type Checker,
  type Symbol as Declared,
  type Project,
  type Signature,
  SignatureKind,
  SymbolFlags,
  type Type,
} from 'typescript/unstable/sync'
import { type DeclaredOption, ENTRIES, kindOfType, takesNull } from './declared-options.ts'
import { wrongMembersOf } from './wrong-members.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

/** A parameter of a call as TypeScript declares it. */
export interface DeclaredParameter extends DeclaredOption {
  readonly takesNull: boolean
}

/** The calls that the package exports, by name: `name(...)`, `new Name(...)`, `Name.static(...)` and `name.method(...)`. */
export type DeclaredCalls = ReadonlyMap<string, readonly DeclaredParameter[]>

/** Every exported function, constructor, static and public method that has a parameter. */
export function declaredCalls(): DeclaredCalls {
  const api = new API()
  try {
    const config = join(ROOT, 'tsconfig.json')
    const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects()
    return new Calls(project!).all()
  } finally {
    api.close()
  }
}

class Calls {
  private readonly project: Project
  private readonly checker: Checker
  private readonly found = new Map<string, readonly DeclaredParameter[]>()

  constructor(project: Project) {
    this.project = project
    this.checker = project.checker
  }

  all(): DeclaredCalls {
    const { checker, project } = this
    for (const entry of ENTRIES) {
      const file = project.program.getSourceFile(join(ROOT, 'src', entry))!
      for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(file)!)) {
        const isAlias = (exported.flags & SymbolFlags.Alias) !== 0
        const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
        if ((symbol.flags & SymbolFlags.Class) !== 0) this.addClass(exported.name, symbol)
        else if ((symbol.flags & SymbolFlags.Value) !== 0) {
          this.addCall(exported.name, checker.getTypeOfSymbol(symbol)!)
        }
      }
    }
    return this.found
  }

  private addClass(name: string, symbol: Declared): void {
    const { checker } = this
    const type = checker.getTypeOfSymbol(symbol)!
    const [made] = checker.getSignaturesOfType(type, SignatureKind.Construct)
    if (made !== undefined && !this.isHidden(made)) this.add(`new ${name}`, made)
    for (const property of checker.getPropertiesOfType(type)) this.addMember(`${name}.`, property)
    const instance = checker.getDeclaredTypeOfSymbol(symbol)!
    const object = name[0]!.toLowerCase() + name.slice(1)
    for (const property of checker.getPropertiesOfType(instance)) {
      this.addMember(`${object}.`, property)
    }
  }

  private addMember(prefix: string, property: Declared): void {
    if (property.name === 'prototype' || property.name.startsWith('__')) return
    const node = property.valueDeclaration?.resolve(this.project)
    if (node !== undefined && isHiddenNode(node)) return
    this.addCall(prefix + property.name, this.checker.getTypeOfSymbol(property)!)
  }

  private addCall(name: string, type: Type): void {
    const [signature] = this.checker.getSignaturesOfType(type, SignatureKind.Call)
    if (signature !== undefined) this.add(name, signature)
  }

  private add(name: string, signature: Signature): void {
    const parameters = signature.getParameters().map((parameter) => {
      const type = this.checker.getTypeOfSymbol(parameter)!
      return {
        name: parameter.name,
        kind: kindOfType(this.checker, type),
        takesNull: takesNull(type),
        wrongMembers: wrongMembersOf(this.checker, type),
      }
    })
    if (parameters.some(({ kind }) => kind !== 'any')) this.found.set(name, parameters)
  }

  private isHidden(signature: Signature): boolean {
    const node = signature.declaration?.resolve(this.project)
    return node !== undefined && isHiddenNode(node)
  }
}

function isHiddenNode(node: object): boolean {
  const { modifierFlags = 0 } = node as { readonly modifierFlags?: number }
  return (modifierFlags & (ModifierFlags.Private | ModifierFlags.Protected)) !== 0
}
