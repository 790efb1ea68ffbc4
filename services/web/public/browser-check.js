// For browsers of any age. Both came to the last of the browsers with the versions of tools/browsers/supported-browsers.ts.
// The menus are popovers; lists of users are subgrids.
if (!('popover' in HTMLElement.prototype && CSS.supports('grid-template-columns', 'subgrid'))) {
  const sentence = document.createElement('p')
  sentence.className = 'outdated'
  sentence.lang = /^de/.test(navigator.language) ? 'de' : 'en'
  sentence.textContent =
    sentence.lang === 'de'
      ? 'Diese Seite braucht Chrome oder Edge ab 117, Firefox ab 125 oder Safari ab 17: Dein Browser ist älter.'
      : 'Your browser is too old for this page. Use Chrome or Edge 117, Firefox 125, Safari 17, or a later version.'
  document.body.insertBefore(sentence, document.body.firstChild)
}
