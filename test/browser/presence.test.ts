import { launchChromium } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { ask, startInstance, type Instance } from './instance.ts'
import * as steps from './steps.ts'

const password = 'a long password'

describe('the presence of friends in the browser', function () {
  this.timeout(120_000)
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await startInstance('presence')
    browser = await launchChromium()
    for (const username of ['ada', 'grace']) await ask(instance, '/api/auth/register', { username, password })
    await instance.befriend('ada', 'grace')
  })

  after(async () => {
    await browser?.close()
    await instance?.[Symbol.asyncDispose]()
  })

  it('lights a lantern when a friend comes, and puts it out when they have gone', async () => {
    const ada = await steps.openTab(browser, instance, '/login')
    await steps.logIn(ada, { username: 'ada', password })
    await steps.arriveHome(ada)
    const grace = await steps.openTab(browser, instance, '/login')
    await steps.logIn(grace, { username: 'grace', password })
    await steps.arriveHome(grace)

    const friend = ada.getByRole('listitem').filter({ hasText: '@grace' })
    await friend.getByText('Online').waitFor()
    await grace.context().close()
    await friend.getByText('Offline').waitFor()

    expect(await ada.getByText('0 online').count()).to.equal(1)
    await ada.context().close()
  })
})
