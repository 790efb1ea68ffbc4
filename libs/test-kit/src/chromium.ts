import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { requireProgram } from '@gatehouse/local-servers'

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

/** Where Chromium is: CHROMIUM_BIN, else the first on the search path. Throws with the remedy when there is none. */
export const chromiumPath = (): string => requireProgram('chromium-headless-shell')

/** Starts a headless Chromium; `close()` it (or `await using`) when done. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: flags })
}
