import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { ContentView } from "./content-view";
import { Foreign } from "./foreign";

const HOSTILE = `<img src=x onerror="alert(1)"><b>bold</b>\u202eevil\u0000 https://safe.test/a`;

test("markup is shown, hidden characters are named, a link says its host", () => {
  const { container } = render(<Foreign text={HOSTILE} />);
  expect(container.querySelector("img, b, script")).toBeNull();
  expect(container.textContent).toContain("<b>bold</b>");
  expect(screen.getByText("U+202E")).toBeTruthy();
  expect(screen.getByText("U+0000")).toBeTruthy();
  const link = screen.getByRole("link");
  expect(link.getAttribute("rel")).toContain("noopener");
  expect(link.textContent).toContain("safe.test");
});

test("inside buttons and links nothing is a link", () => {
  render(<Foreign text="https://safe.test" plain />);
  expect(screen.queryByRole("link")).toBeNull();
});

test("pictures come from the result itself, never from elsewhere", () => {
  const { container } = render(
    <>
      <ContentView part={{ kind: "image", mimeType: "image/png", data: "aGk=" }} />
      <ContentView part={{ kind: "image", mimeType: "text/html", data: "aGk=" }} />
      <ContentView
        part={{
          kind: "link",
          uri: "https://evil.test/p.png",
          name: "p",
          description: "",
          mimeType: "image/png",
        }}
      />
      <ContentView part={{ kind: "resource", uri: "https://evil.test/q.png", mimeType: "image/png" }} />
    </>,
  );
  expect([...container.querySelectorAll("img")].map((it) => it.getAttribute("src"))).toEqual([
    "data:image/png;base64,aGk=",
  ]);
});
