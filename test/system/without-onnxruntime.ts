/** Preloaded into a process, makes it one where onnxruntime-node is not installed. */
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    return next(specifier === 'onnxruntime-node' ? 'onnxruntime-node-absent' : specifier, context)
  },
})
