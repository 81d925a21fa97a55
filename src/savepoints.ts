/** What the package exports of savepoints: to read, change and write them in a program. */

export {
  type BootstrapData,
  BroadcastStateTransformation,
  bootstrapWith,
  KeyedStateTransformation,
  OneInputStateTransformation,
  type StateBootstrapTransformation,
} from './runtime/savepoints/bootstrap.ts'
export type { KeyChange, ValueChange } from './runtime/savepoints/entry-change.ts'
export type {
  KeyedStateReaderContext,
  KeyedStateReaderFunction,
  KeyedStateReaderOpenContext,
} from './runtime/savepoints/keyed-reader.ts'
export type { SavepointPlaceOptions } from './runtime/savepoints/place.ts'
export { type SavepointOperator, SavepointReader } from './runtime/savepoints/reader.ts'
export type { StoredWindow, WindowChange } from './runtime/savepoints/window-state.ts'
export { SavepointWriter } from './runtime/savepoints/writer.ts'
