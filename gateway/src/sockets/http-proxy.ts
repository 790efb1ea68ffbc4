import util from 'node:util'
import HttpProxy from 'http-proxy'

/**
 * http-proxy calls `util._extend`, of which Node warns once for each process. Calling it here while nobody listens takes
 * that one warning, and no other.
 */
function takeDeprecationWarning(): void {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  ;(util as unknown as { _extend(target: object, source: object): object })._extend({}, {})
  process.emitWarning = emitWarning
}

takeDeprecationWarning()
export const createProxyServer = HttpProxy.createProxyServer
