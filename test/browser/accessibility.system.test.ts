import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import { addAxe } from './accessible.ts'
import { accountPages, findFaultsOf } from './accessible-pages.ts'
import { startFilledInstance } from './filled-instance.ts'

describe('accessibility of every page of an account', () => {
  it('has no axe violation, no unclear name and no horizontal overflow, light at 1280 px and dark at 320 px', async () => {
    await using instance = await startFilledInstance('accessibility')
    await using browser = await launchChromium()
    const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce' })
    await addAxe(context)
    const page = await context.newPage()
    await page.addInitScript((token) => localStorage.setItem('service_token', token), instance.token)

    const faults: string[] = []
    for (const target of accountPages) faults.push(...(await findFaultsOf(page, instance.origin, target)))

    expect(faults).to.deep.equal([])
  })
})
