import { WeirError } from '../errors.ts'
import { unsupportedNode } from './supported-node.ts'

/* Imported for its effect by the entries of the package: throws UNSUPPORTED under a Node that is too old. */

const problem = unsupportedNode(process.versions.node)
if (problem !== undefined) throw new WeirError('UNSUPPORTED', problem)
