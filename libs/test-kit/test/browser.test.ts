import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { launchChromium } from '../src/browser.ts'
import { eventually } from '../src/eventually.ts'

describe('launchChromium', () => {
  async function showTitle(browser: Browser): Promise<string | null> {
    const page = await browser.newPage()
    await page.setContent('<h1>Gatehouse</h1>')
    return page.textContent('h1')
  }

  const titleOf = async (browser: Browser) => browser.contexts()[0]?.pages()[0]?.textContent('h1')

  it('opens a browser that runs pages', async () => {
    await using browser = await launchChromium()

    expect(await showTitle(browser)).to.equal('Gatehouse')
  })

  it('takes the browser of the process, and closes only what it has opened there', async () => {
    await using browser = await launchChromium()
    const other = await launchChromium()
    const disconnected = new Promise((resolve) => browser.once('disconnected', resolve))
    await showTitle(browser)
    expect(other.contexts()).to.deep.equal([])
    await showTitle(other)
    const [ofOther] = other.contexts()

    await other.close()

    expect(ofOther?.pages()).to.deep.equal([])
    expect(other.contexts()).to.deep.equal([])
    expect(await titleOf(browser)).to.equal('Gatehouse')
    await crash(other)
    await disconnected
    expect(browser.isConnected()).to.equal(false)
  })

  it('starts another browser when that of the process has crashed', async () => {
    const crashing = await launchChromium()
    await crash(crashing)

    await eventually('a page in another browser', async () => {
      await using browser = await launchChromium()
      return (await showTitle(browser)) === 'Gatehouse'
    })
  })

  async function crash(browser: Browser): Promise<void> {
    const disconnected = new Promise((resolve) => browser.once('disconnected', resolve))
    const devtools = await browser.newBrowserCDPSession()
    await Promise.all([disconnected, devtools.send('Browser.crash').catch(() => undefined)])
  }
})
