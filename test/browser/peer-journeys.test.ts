import { answered, eventually } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import type { Browser, Page } from 'playwright-core'
import { shown, shownText } from './shown.ts'
import { postJson, startPair, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const account = { username: 'admin', password: 'a long password' }

describe('peers in the browser', () => {
  const resources = new AsyncDisposableStack()
  let asking: Instance
  let asked: Instance
  let browser: Browser
  let askingPage: Page
  let askedPage: Page

  before(async () => {
    ;[asking, asked] = await startPair(resources, ['asking', 'asked'])
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const open = async (instance: Instance) => {
      await answered(postJson(instance, '/api/auth/register', account))
      const page = await actions.openPage(browser, instance, '/login?redirect=/admin/federation')
      await actions.logIn(page, account)
      await actions.waitForText(page, 'No peers yet.')
      return page
    }
    askingPage = await open(asking)
    askedPage = await open(asked)
  })

  after(() => resources.disposeAsync())

  const row = (page: Page, peer: Instance) =>
    page
      .getByRole('region', { name: shown('Peers') })
      .getByRole('listitem')
      .filter({ hasText: shownText(peer.host) })
  const ask = async (page: Page, peer: Instance) => {
    await actions.fillField(page, 'Instance address', peer.origin)
    await actions.click(page, 'Send request')
  }

  it('refuses the address of the instance itself', async () => {
    await ask(askingPage, asking)

    await actions.waitForText(askingPage, 'That’s this instance.')
  })

  it('shows a denied request as rejected on both sides, with the reason, until each forgets it', async () => {
    await ask(askingPage, asked)
    await row(askingPage, asked).getByText(shown('waiting for approval')).waitFor()
    await actions.click(askedPage, shown('Deny {host}', { host: asking.host }))

    await row(askedPage, asking).getByText(shown('An admin of this instance denied the request.')).waitFor()
    await row(askingPage, asked).getByText(shown('rejected'), { exact: true }).waitFor()
    await row(askingPage, asked).getByText(shown('The other instance denied the request.')).waitFor()

    for (const [page, peer] of [
      [askingPage, asked],
      [askedPage, asking],
    ] as const) {
      await actions.clickInMenu(page, peer.host, shown('Remove from list: {name}', { name: peer.host }))
      await actions.clickInDialog(page, 'Remove from list')
      await row(page, peer).waitFor({ state: 'detached' })
    }
  })

  it('rechecks a peer that was unreachable, which is active again', async () => {
    await ask(askingPage, asked)
    await actions.click(askedPage, shown('Approve {host}', { host: asking.host }))
    await row(askingPage, asked).getByText(shown('active'), { exact: true }).waitFor()
    // An activation makes the peer due once: a maintenance that runs meanwhile would probe an unreachable one.
    const settled = 'select 1 from peers where synced_at is not null and next_attempt_at is null'
    await eventually('the first synchronization ends', async () => ((await asking.runSql(settled)) as unknown[])[0])
    await asking.runSql("update peers set status = 'unreachable', next_attempt_at = now() + interval '1 hour'")
    await askingPage.reload()
    await row(askingPage, asked).getByText('The other instance isn’t responding.').waitFor()

    await actions.clickInMenu(askingPage, asked.host, shown('Check again: {name}', { name: asked.host }))

    await actions.waitForText(askingPage, /is active again\./)
    await row(askingPage, asked).getByText(shown('active'), { exact: true }).waitFor()
  })

  it('says that another instance answers at the address of a peer, and resets it', async () => {
    await asking.runSql("update peers set status = 'needs_attention', reason = 'peer_reset_detected'")
    await askingPage.reload()
    await row(askingPage, asked).getByText(shown('A different instance now responds at this address.')).waitFor()

    await actions.clickInMenu(askingPage, asked.host, shown('Reset peering with {name}', { name: asked.host }))
    await actions.waitForText(
      askingPage,
      'This deletes what this instance stores about the peering. To become peers again, send a new request.',
    )
    await actions.clickInDialog(askingPage, 'Reset')

    await row(askingPage, asked).waitFor({ state: 'detached' })
    await actions.waitForText(askingPage, /^Peering with .* reset\./)
  })
})
