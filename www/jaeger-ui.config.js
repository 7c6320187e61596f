// The configuration of jaeger-ui.config.json with what JSON cannot say: the versions at the end of the built-in menu.
function UIConfig() {
  const config = {
    "menu": [
      { "label": "Pathlight", "url": "/pathlight/#v=1&api=/", "anchorTarget": "_blank" },
      {
        "label": "About Jaeger",
        "items": [
          { "label": "Website / Docs", "url": "https://www.jaegertracing.io/" },
          { "label": "Blog", "url": "https://medium.com/jaegertracing/" },
          { "label": "Twitter", "url": "https://twitter.com/JaegerTracing" },
          { "label": "Discussions / Q&A", "url": "https://github.com/orgs/jaegertracing/discussions" },
          { "label": "Online Chat", "url": "https://cloud-native.slack.com/archives/CGG7NFUJ3" },
          { "label": "GitHub", "url": "https://github.com/jaegertracing/" }
        ]
      }
    ],
    "linkPatterns": [
      {
        "type": "traces",
        "url": "/pathlight/#v=1&api=/&view=trace&traceID=#{traceID}",
        "text": "Critical path in Pathlight"
      }
    ],
    "scripts": [
      {
        "type": "inline",
        "text": "{ const script = document.createElement('script'); script.src = '/pathlight/jaeger-plugin.js'; document.head.append(script); }"
      }
    ]
  };
  const { gitVersion, gitCommit, buildDate } = getJaegerVersion();
  const versions = ["Jaeger " + gitVersion, "Commit " + gitCommit.substring(0, 7), "Build " + buildDate];
  config.menu[1].items.push(...versions.map((label) => ({ label })));
  return config;
}
