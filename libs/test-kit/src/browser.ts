import { requireProgram } from '@gatehouse/local-servers'
import { chromium, type Browser, type BrowserContext } from 'playwright-core'
import { waitLimitMs } from './eventually.ts'

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-software-rasterizer',
  '--in-process-gpu',
  '--renderer-process-limit=1',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Chromium is that of CHROMIUM_BIN, else the first on the search path. Throws with the remedy when there is none. */
const start = () => chromium.launch({ executablePath: requireProgram('chromium-headless-shell'), args: flags })

let ofProcess: Browser | undefined

/**
 * A headless Chromium, with separate contexts. The files of a test process share one, which ends with the run; it is
 * started again when it has ended. `close()` it (or `await using`) when done: that ends what was opened by this call.
 */
export async function launchChromium(): Promise<Browser> {
  // Nobody tells another process that its last test has run.
  if (!process.connected) return await start()
  if (!ofProcess?.isConnected()) {
    const started = (ofProcess = await start())
    process.once('disconnect', () => void started.close())
  }
  return partOf(ofProcess)
}

/** Knows only the contexts that were opened by itself. */
function partOf(browser: Browser): Browser {
  const own = new Set<BrowserContext>()
  const newContext: Browser['newContext'] = async (options) => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(waitLimitMs)
    own.add(context)
    context.once('close', () => own.delete(context))
    return context
  }
  const close = async () => {
    await Promise.all([...own].map((context) => context.close()))
  }
  const changed = { newContext, close, contexts: () => [...own], [Symbol.asyncDispose]: close }
  return new Proxy(browser, {
    get(target, name, part) {
      if (name in changed) return changed[name as keyof typeof changed]
      const value: unknown = Reflect.get(target, name)
      // `newPage` opens a context of its own.
      return typeof value === 'function' ? (value.bind(name === 'newPage' ? part : target) as unknown) : value
    },
  })
}
