import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { launchChromium, startBrowserServer } from '../src/browser.ts'
import { eventually } from '../src/eventually.ts'

describe('launchChromium', () => {
  const ofRun = process.env.GATEHOUSE_TEST_BROWSER_URL
  afterEach(() => {
    if (ofRun === undefined) delete process.env.GATEHOUSE_TEST_BROWSER_URL
    else process.env.GATEHOUSE_TEST_BROWSER_URL = ofRun
  })

  async function showTitle(browser: Browser): Promise<string | null> {
    const page = await browser.newPage()
    await page.setContent('<h1>Gatehouse</h1>')
    return page.textContent('h1')
  }

  it('opens a browser that runs pages', async () => {
    await using browser = await launchChromium()

    expect(await showTitle(browser)).to.equal('Gatehouse')
  })

  it('takes the browser of the run, and closes only what it has opened there', async () => {
    await using server = await startBrowserServer()
    process.env.GATEHOUSE_TEST_BROWSER_URL = server.url
    await using browser = await launchChromium()
    const other = await launchChromium()
    await showTitle(browser)
    expect(other.contexts()).to.deep.equal([])

    await other.close()

    expect(await browser.contexts()[0]?.pages()[0]?.textContent('h1')).to.equal('Gatehouse')
    await server[Symbol.asyncDispose]()
    expect(browser.isConnected()).to.equal(false)
  })

  it('starts a browser of its own when that of the run has crashed', async () => {
    await using server = await startBrowserServer()
    process.env.GATEHOUSE_TEST_BROWSER_URL = server.url
    const crashing = await launchChromium()
    const disconnected = new Promise((resolve) => crashing.once('disconnected', resolve))
    const devtools = await crashing.newBrowserCDPSession()
    await Promise.all([disconnected, devtools.send('Browser.crash').catch(() => undefined)])

    // A moment later nobody listens at its address.
    await eventually('a page in another browser', async () => {
      await using browser = await launchChromium()
      return (await showTitle(browser)) === 'Gatehouse'
    })
  })
})
