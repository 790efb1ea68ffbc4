import { requireProgram } from '@gatehouse/local-servers'
import { chromium, type Browser } from 'playwright-core'

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
const options = () => ({ executablePath: requireProgram('chromium-headless-shell'), args: flags })

/** Starts a headless Chromium at a WebSocket address, which `launchChromium` of other processes takes. Dispose ends it. */
export async function startBrowserServer(): Promise<AsyncDisposable & { url: string }> {
  // The run ends it on a signal, after the files that use it.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false }
  const server = await chromium.launchServer({ ...options(), ...signals, host: '127.0.0.1' })
  return { url: server.wsEndpoint(), [Symbol.asyncDispose]: () => server.close() }
}

/**
 * The headless Chromium of the run, which GATEHOUSE_TEST_BROWSER_URL names; without one, or when it has ended, one of its
 * own. `close()` it (or `await using`) when done: that ends what was opened by this call.
 */
export async function launchChromium(): Promise<Browser> {
  const url = process.env.GATEHOUSE_TEST_BROWSER_URL
  const ofRun = url ? await chromium.connect(url).catch(() => null) : null
  return ofRun ?? (await chromium.launch(options()))
}
