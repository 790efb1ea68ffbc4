import { expect } from 'chai'
import { launchChromium } from '../src/index.ts'

describe('launchChromium', () => {
  it('opens a browser that runs pages', async () => {
    await using browser = await launchChromium()
    const page = await browser.newPage()

    await page.setContent('<h1>Gatehouse</h1>')

    expect(await page.textContent('h1')).to.equal('Gatehouse')
  })
})
