/* Preloaded into a process, this makes it one without the package that WITHOUT_PACKAGE names. */
import { registerHooks } from 'node:module'

const missing = process.env['WITHOUT_PACKAGE']

registerHooks({
  resolve(specifier, context, next) {
    return next(specifier === missing ? `${specifier}-absent` : specifier, context)
  },
})
