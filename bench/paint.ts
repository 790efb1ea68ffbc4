import { startRunEnvironment } from '../libs/test-kit/src/run-environment.ts'
import type { Browser } from 'playwright-core'
import { absoluteLine, type Line } from './report.ts'
import { measureInRounds, median, type Run } from './rounds.ts'

const limitS = 1.5
/** A cheap phone on a slow mobile network. */
const network = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 }
const cpuSlowdown = 4

/** The largest paint of a first visit to the login page, nothing cached, on a slow device and network. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using servers = await startRunEnvironment()
  Object.assign(process.env, servers.variables)
  const { launchChromium } = await import('@gatehouse/test-kit/browser')
  const { startInstance } = await import('../test/browser/start-instance.ts')
  await using instance = await startInstance('paint')
  await using browser = await launchChromium()
  const { docs, login } = await measureInRounds(run.rounds(5), {
    docs: () => firstPaint(browser, `${instance.origin}/api/docs`),
    login: () => firstPaint(browser, `${instance.origin}/login`),
  })
  const format = (seconds: number): string => `${seconds.toFixed(2)} s`
  return [
    absoluteLine({
      what: 'largest paint of the login page: 4 times slower CPU, 1.6 Mbit/s, 150 ms',
      values: login,
      peer: `a page without a build, /api/docs, ${format(median(docs))}`,
      format,
      bound: { atMost: limitS },
    }),
  ]
}

/** Seconds from the start of the navigation to its largest paint, in a context of its own. */
async function firstPaint(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Network.emulateNetworkConditions', network)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: cpuSlowdown })
  await page.goto(url, { waitUntil: 'networkidle' })
  const seconds = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const observer = new PerformanceObserver((list) => resolve((list.getEntries().at(-1)?.startTime ?? 0) / 1000))
        observer.observe({ type: 'largest-contentful-paint', buffered: true })
      }),
  )
  await context.close()
  return seconds
}
